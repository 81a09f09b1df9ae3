//! The authority: made, kept, found again, checked.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DnType, GeneralSubtree, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, NameConstraints, PKCS_ECDSA_P256_SHA256,
};
use time::{Duration, OffsetDateTime};

use crate::Error;
use crate::keep::{self, Kept};
use crate::leaf::Leaf;

/// How long an authority lasts. Long enough that nobody has to trust a new one each season;
/// browsers set no limit for authorities.
const AUTHORITY_DAYS: i64 = 5 * 365;

/// Clocks of the machine and of a container on it may differ a little.
const BACKDATED: Duration = Duration::hours(1);

/// One that ends within this time is made anew rather than ending in the middle of a run.
const SPARE: Duration = Duration::days(1);

/// Its name, as a browser's list of authorities shows it.
const NAME: &str = "Holdup local authority (localhost only)";

/// Where an authority came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It was there.
    Kept,
    /// There was none: it is new.
    New,
    /// There was one, its time was over, and a new one has taken its place.
    Renewed,
}

impl Found {
    /// What a person should be told of it, if anything.
    pub fn note(self) -> Option<&'static str> {
        match self {
            Found::Kept => None,
            Found::New => Some("made a local certificate authority, for localhost only"),
            Found::Renewed => Some(
                "the local certificate authority had expired and was made anew; whoever trusted it must trust the new one",
            ),
        }
    }
}

/// A certificate authority for localhost and the loopback addresses.
pub struct Authority {
    certificate_pem: String,
    issuer: Issuer<'static, KeyPair>,
    found: Found,
}

impl Authority {
    /// The authority kept in a folder; made if there is none, made anew if its time is over.
    ///
    /// # Errors
    /// When the folder cannot be written, folder or key are open to others, or what is there is
    /// no authority.
    pub fn open(folder: &Path) -> Result<Authority, Error> {
        Authority::open_at(folder, OffsetDateTime::now_utc())
    }

    /// The same at another time than now.
    ///
    /// # Errors
    /// As for [`Authority::open`].
    pub fn open_at(folder: &Path, now: OffsetDateTime) -> Result<Authority, Error> {
        keep::prepare(folder)?;
        let mut found = Found::New;
        if let Some(kept) = keep::read(folder)? {
            if now + SPARE < kept.not_after {
                return Authority::of(kept, folder);
            }
            keep::discard(folder)?;
            found = Found::Renewed;
        }
        let (certificate, key) = make(now)?;
        if keep::write(folder, &certificate, &key.serialize_pem())? {
            let issuer = Issuer::from_ca_cert_pem(&certificate, key)?;
            return Ok(Authority { certificate_pem: certificate, issuer, found });
        }
        // Another process was first; there is one authority, and it is theirs.
        match keep::read(folder)? {
            Some(kept) => Authority::of(kept, folder),
            None => Err(keep::vanished(folder)),
        }
    }

    /// An authority that nobody keeps: for tests.
    ///
    /// # Errors
    /// When no key can be made.
    pub fn in_memory() -> Result<Authority, Error> {
        let (certificate_pem, key) = make(OffsetDateTime::now_utc())?;
        let issuer = Issuer::from_ca_cert_pem(&certificate_pem, key)?;
        Ok(Authority { certificate_pem, issuer, found: Found::New })
    }

    fn of(kept: Kept, folder: &Path) -> Result<Authority, Error> {
        let damaged = |error: rcgen::Error| keep::damaged(folder, error.to_string());
        let key = KeyPair::from_pem(&kept.key_pem).map_err(damaged)?;
        if rcgen::PublicKeyData::subject_public_key_info(&key) != kept.public_key {
            return Err(keep::damaged(folder, "its key is of another certificate".into()));
        }
        let issuer = Issuer::from_ca_cert_pem(&kept.certificate_pem, key).map_err(damaged)?;
        Ok(Authority { certificate_pem: kept.certificate_pem, issuer, found: Found::Kept })
    }

    /// Where it came from.
    pub fn found(&self) -> Found {
        self.found
    }

    /// Its certificate, in PEM: what a client trusts.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// A new leaf certificate for localhost and the loopback addresses.
    ///
    /// # Errors
    /// When no key can be made.
    pub fn leaf(&self) -> Result<Leaf, Error> {
        Leaf::signed_by(&self.issuer, &self.certificate_pem, OffsetDateTime::now_utc())
    }
}

fn make(now: OffsetDateTime) -> Result<(String, KeyPair), Error> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut params = CertificateParams::default();
    params.not_before = now - BACKDATED;
    params.not_after = now + Duration::days(AUTHORITY_DAYS);
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, NAME);
    // It signs leaves and no further authorities.
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    // rcgen marks them critical: a client that does not know them must refuse the chain.
    params.name_constraints = Some(NameConstraints {
        permitted_subtrees: vec![
            GeneralSubtree::DnsName("localhost".into()),
            GeneralSubtree::IpAddress(CidrSubnet::from_v4_prefix(
                Ipv4Addr::new(127, 0, 0, 0).octets(),
                8,
            )),
            GeneralSubtree::IpAddress(CidrSubnet::from_v6_prefix(
                Ipv6Addr::LOCALHOST.octets(),
                128,
            )),
        ],
        excluded_subtrees: Vec::new(),
    });
    let certificate = params.self_signed(&key)?;
    Ok((certificate.pem(), key))
}
