//! What a server shows: a certificate for localhost and the loopback addresses, and its key.

use std::fmt;
use std::fs;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    CertificateParams, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, PublicKeyData as _, SanType,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use time::{Duration, OffsetDateTime};

use crate::Error;

/// How long a leaf lasts. It is made at each start, so this only bounds how long one process may
/// run; browsers take no leaf of more than 398 days.
const LEAF_DAYS: i64 = 90;

/// As for the authority: clocks differ a little.
const BACKDATED: Duration = Duration::hours(1);

/// The key is its owner's.
const FILE_MODE: u32 = 0o600;

/// A certificate and its key.
pub struct Leaf {
    certificate: CertificateDer<'static>,
    certificate_pem: String,
    authority_pem: String,
    key: KeyPair,
}

/// Where a leaf's PEM files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The certificate, then the authority's.
    pub chain: PathBuf,
    /// The key.
    pub key: PathBuf,
    /// Chain and key in one, as HAProxy wants it.
    pub both: PathBuf,
}

impl Leaf {
    pub(crate) fn signed_by(
        issuer: &Issuer<'static, KeyPair>,
        authority_pem: &str,
        now: OffsetDateTime,
    ) -> Result<Leaf, Error> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let mut params = CertificateParams::default();
        params.not_before = now - BACKDATED;
        params.not_after = now + Duration::days(LEAF_DAYS);
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "localhost");
        params.subject_alt_names = vec![
            SanType::DnsName("localhost".try_into()?),
            SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            SanType::IpAddress(IpAddr::V6(Ipv6Addr::LOCALHOST)),
        ];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&key, issuer)?;
        Ok(Leaf {
            certificate_pem: certificate.pem(),
            certificate: certificate.der().clone(),
            authority_pem: authority_pem.to_owned(),
            key,
        })
    }

    /// The certificate, then the authority's, in PEM.
    pub fn chain_pem(&self) -> String {
        format!("{}{}", self.certificate_pem, self.authority_pem)
    }

    /// The key, in PEM.
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// The certificate, in DER: its hash pins it.
    pub fn certificate_der(&self) -> &[u8] {
        &self.certificate
    }

    /// The public key with its algorithm, in DER (`SubjectPublicKeyInfo`): its hash pins the key.
    pub fn public_key_der(&self) -> Vec<u8> {
        self.key.subject_public_key_info()
    }

    /// Writes the PEM files into a folder, readable by the owner only.
    ///
    /// # Errors
    /// When a file of that name is there or none can be written.
    pub fn write_into(&self, folder: &Path) -> Result<Files, Error> {
        let (chain, key) = (self.chain_pem(), self.key_pem());
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            let mut options = fs::OpenOptions::new();
            options
                .write(true)
                .create_new(true)
                .mode(FILE_MODE)
                .open(&path)
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .map_err(|source| Error::Write { path: path.clone(), source })?;
            Ok::<_, Error>(path)
        };
        Ok(Files {
            chain: write("certificate.pem", &chain)?,
            key: write("key.pem", &key)?,
            both: write("certificate-and-key.pem", &format!("{chain}{key}"))?,
        })
    }

    /// What a server of ours speaks TLS with: version 1.3 only, with these protocols offered, the
    /// best first.
    ///
    /// Every browser of today speaks 1.3, and its records add the same 17 bytes to whatever they
    /// carry, so that what leaves a socket can be counted. No session tickets: each connection
    /// makes the whole handshake, so that one run is like another.
    ///
    /// # Errors
    /// When the TLS library refuses the certificate.
    pub fn server_config(&self, protocols: &[&str]) -> Result<Arc<ServerConfig>, Error> {
        let key = PrivatePkcs8KeyDer::from(self.key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], PrivateKeyDer::Pkcs8(key))?;
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }
}

impl fmt::Debug for Leaf {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leaf").field("certificate", &self.certificate_pem).finish_non_exhaustive()
    }
}
