//! The authority in a folder: made, found, refused; and what a client makes of its leaves.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use certs::{Authority, Error, Found};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection};
use time::{Duration, OffsetDateTime};
use x509_parser::pem::Pem;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn refusal(folder: &Path) -> Error {
    let error = Authority::open(folder).map(drop).unwrap_err();
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
    error
}

#[test]
fn it_is_made_once_for_its_owner_only_and_found_again() {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("holdup").join("authority");
    let first = Authority::open(&folder).unwrap();
    assert_eq!(first.found(), Found::New);
    assert!(first.found().note().is_some());
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("authority.pem")), 0o600);
    assert_eq!(
        fs::read_to_string(folder.join("authority-certificate.pem")).unwrap(),
        first.certificate_pem()
    );
    let again = Authority::open(&folder).unwrap();
    assert_eq!((again.found(), again.found().note()), (Found::Kept, None));
    assert_eq!(again.certificate_pem(), first.certificate_pem());
    // Its leaves are of the same authority, whoever made them.
    assert_eq!(handshake(&first, &again, "localhost"), Ok("h2".into()));
}

#[test]
fn one_whose_time_is_over_is_made_anew_and_that_is_said() {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("authority");
    let past = OffsetDateTime::now_utc() - Duration::days(6 * 365);
    let old = Authority::open_at(&folder, past).unwrap();
    let new = Authority::open(&folder).unwrap();
    assert_eq!(new.found(), Found::Renewed);
    assert!(new.found().note().unwrap().contains("made anew"));
    assert_ne!(new.certificate_pem(), old.certificate_pem());
    assert_eq!(Authority::open(&folder).unwrap().found(), Found::Kept);
}

#[test]
fn what_is_open_to_others_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("authority");
    Authority::open(&folder).unwrap();
    let key = folder.join("authority.pem");
    fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    let error = refusal(&folder);
    assert!(matches!(error, Error::OpenToOthers { mode: 0o644, .. }), "{error}");
    assert!(error.to_string().contains(&format!("chmod 600 {}", key.display())), "{error}");
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    assert!(refusal(&folder).to_string().contains("chmod 700"));
}

#[test]
fn a_folder_that_cannot_be_made_and_files_that_do_not_parse_are_refused() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(refusal(&file.join("authority")), Error::Write { .. }));
    assert!(matches!(refusal(&file), Error::Write { .. }));

    let folder = data.path().join("authority");
    let kept = folder.join("authority.pem");
    Authority::open(&folder).unwrap();
    let good = fs::read_to_string(&kept).unwrap();
    let other = data.path().join("other");
    Authority::open(&other).unwrap();
    let other = fs::read_to_string(other.join("authority.pem")).unwrap();
    let begin = |text: &str| text.find("-----BEGIN CERTIFICATE-----").unwrap();
    let mixed = format!("{}{}", &good[..begin(&good)], &other[begin(&other)..]);
    let cut = &good[..good.len() - 200];
    for damaged in [b"".as_slice(), b"nothing", &[0xff, 0xfe], mixed.as_bytes(), cut.as_bytes()] {
        fs::write(&kept, damaged).unwrap();
        let error = refusal(&folder);
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
    }
}

#[test]
fn ten_at_once_have_one_authority() {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("authority");
    let certificates: Vec<String> = std::thread::scope(|scope| {
        let open = || Authority::open(&folder).unwrap().certificate_pem().to_owned();
        let threads: Vec<_> = (0..10).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(certificates.iter().all(|certificate| *certificate == certificates[0]));
}

#[test]
fn its_certificate_is_good_for_loopback_only_and_says_so_critically() {
    let authority = Authority::in_memory().unwrap();
    let pem = Pem::iter_from_buffer(authority.certificate_pem().as_bytes()).next().unwrap();
    let pem = pem.unwrap();
    let certificate = pem.parse_x509().unwrap();
    assert!(certificate.is_ca());
    let constraints = certificate.name_constraints().unwrap().unwrap();
    assert!(constraints.critical);
    let permitted = constraints.value.permitted_subtrees.as_ref().unwrap();
    let said: Vec<String> = permitted.iter().map(|tree| format!("{:?}", tree.base)).collect();
    assert_eq!(
        said,
        [
            "DNSName(\"localhost\")",
            "IPAddress([127, 0, 0, 0, 255, 0, 0, 0])",
            &format!("IPAddress({:?})", [vec![0; 15], vec![1], vec![255; 16]].concat()),
        ]
    );
}

#[test]
fn a_client_that_trusts_it_takes_its_leaves_for_their_names() {
    let authority = Authority::in_memory().unwrap();
    for name in ["localhost", "127.0.0.1", "::1"] {
        assert_eq!(handshake(&authority, &authority, name), Ok("h2".into()), "{name}");
    }
    assert!(handshake(&authority, &authority, "example.com").is_err());
    assert!(handshake(&authority, &authority, "127.0.0.2").is_err());
    let other = Authority::in_memory().unwrap();
    assert!(handshake(&other, &authority, "localhost").is_err());
}

#[test]
fn pem_files_are_the_owners_and_a_leaf_is_young() {
    let folder = tempfile::tempdir().unwrap();
    let leaf = Authority::in_memory().unwrap().leaf().unwrap();
    let files = leaf.write_into(folder.path()).unwrap();
    let both = fs::read_to_string(&files.both).unwrap();
    assert_eq!(both, format!("{}{}", leaf.chain_pem(), leaf.key_pem()));
    assert_eq!(CertificateDer::pem_slice_iter(both.as_bytes()).count(), 2);
    for path in [&files.chain, &files.key, &files.both] {
        assert_eq!(mode(path), 0o600);
    }
    assert!(leaf.write_into(folder.path()).is_err(), "nothing is overwritten");
}

/// A handshake in memory: the protocol agreed upon, or why the client refused.
fn handshake(trusted: &Authority, shown: &Authority, name: &str) -> Result<String, String> {
    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from_pem_slice(trusted.certificate_pem().as_bytes()).unwrap();
    roots.add(root).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    let served = shown.leaf().unwrap().server_config(&["h2", "http/1.1"]).unwrap();
    let mut server = ServerConnection::new(served).unwrap();
    while client.is_handshaking() || server.is_handshaking() {
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        server.read_tls(&mut bytes.as_slice()).unwrap();
        server.process_new_packets().map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        server.write_tls(&mut bytes).unwrap();
        client.read_tls(&mut bytes.as_slice()).unwrap();
        client.process_new_packets().map_err(|error| error.to_string())?;
    }
    server.writer().write_all(b"hello").unwrap();
    let mut bytes = Vec::new();
    server.write_tls(&mut bytes).unwrap();
    assert_eq!(bytes.len(), 5 + 5 + 17, "no ticket, and 17 bytes beside the payload");
    client.read_tls(&mut bytes.as_slice()).unwrap();
    client.process_new_packets().unwrap();
    let mut said = [0; 5];
    client.reader().read_exact(&mut said).unwrap();
    assert_eq!(&said, b"hello");
    Ok(String::from_utf8_lossy(client.alpn_protocol().unwrap_or_default()).into_owned())
}
