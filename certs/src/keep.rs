//! The file an authority is kept in: key and certificate together, so that they always belong
//! to each other, readable by the owner only, and beside it the certificate alone, to be trusted.

use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use time::OffsetDateTime;
use x509_parser::pem::Pem;

use crate::Error;

/// Key and certificate.
const AUTHORITY: &str = "authority.pem";
/// The certificate alone.
const CERTIFICATE: &str = "authority-certificate.pem";
/// The folder is the owner's, and so is what is in it.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// Whatever stands for group and others.
const OTHERS: u32 = 0o077;

/// An authority as it was kept.
pub(crate) struct Kept {
    pub(crate) certificate_pem: String,
    pub(crate) key_pem: String,
    pub(crate) not_after: OffsetDateTime,
    /// The certificate's public key, as its DER says it.
    pub(crate) public_key: Vec<u8>,
}

fn file(folder: &Path) -> PathBuf {
    folder.join(AUTHORITY)
}

/// What is there is no authority.
pub(crate) fn damaged(folder: &Path, why: String) -> Error {
    Error::Damaged { path: file(folder), why }
}

/// It was there a moment ago.
pub(crate) fn vanished(folder: &Path) -> Error {
    Error::Read { path: file(folder), source: io::ErrorKind::NotFound.into() }
}

/// Makes the folder, or refuses one that others can look into.
pub(crate) fn prepare(folder: &Path) -> Result<(), Error> {
    let refused = |source| Error::Write { path: folder.to_owned(), source };
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(FOLDER_MODE).create(folder).map_err(refused)?;
    closed(folder, FOLDER_MODE)
}

fn closed(path: &Path, wanted: u32) -> Result<(), Error> {
    let metadata =
        fs::metadata(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & OTHERS == 0 {
        Ok(())
    } else {
        Err(Error::OpenToOthers { path: path.to_owned(), mode, wanted })
    }
}

/// The authority kept here, if there is one.
pub(crate) fn read(folder: &Path) -> Result<Option<Kept>, Error> {
    let path = file(folder);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return Err(damaged(folder, "it is no PEM file".into()));
        }
        Err(source) => return Err(Error::Read { path, source }),
    };
    closed(&path, FILE_MODE)?;
    let (key_pem, certificate_pem) = split(&text)
        .ok_or_else(|| damaged(folder, "it does not hold a key and a certificate".into()))?;
    let unread = |_| damaged(folder, "its certificate cannot be read".into());
    let pem = Pem::iter_from_buffer(certificate_pem.as_bytes()).next();
    let pem = pem.ok_or_else(|| damaged(folder, "its certificate is empty".into()))?;
    let pem = pem.map_err(|_| damaged(folder, "its certificate cannot be read".into()))?;
    let certificate = pem.parse_x509().map_err(unread)?;
    Ok(Some(Kept {
        not_after: certificate.validity().not_after.to_datetime(),
        public_key: certificate.public_key().raw.to_vec(),
        key_pem: key_pem.to_owned(),
        certificate_pem: certificate_pem.to_owned(),
    }))
}

/// The two halves of the file: it is written in this order.
fn split(text: &str) -> Option<(&str, &str)> {
    let at = text.find("-----BEGIN CERTIFICATE-----")?;
    let (key, certificate) = text.split_at(at);
    key.contains("PRIVATE KEY-----").then_some((key, certificate))
}

/// Removes an authority whose time is over.
pub(crate) fn discard(folder: &Path) -> Result<(), Error> {
    match fs::remove_file(file(folder)) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(Error::Write { path: file(folder), source })
        }
        _ => Ok(()),
    }
}

/// Keeps an authority, whole or not at all; false if another process has just kept its own.
pub(crate) fn write(folder: &Path, certificate: &str, key: &str) -> Result<bool, Error> {
    let path = file(folder);
    let refused = |source| Error::Write { path: path.clone(), source };
    match written(folder, &format!("{key}{certificate}"), |temporary| {
        temporary.persist_noclobber(&path)
    }) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        result => result.map_err(refused)?,
    }
    let path = folder.join(CERTIFICATE);
    written(folder, certificate, |temporary| temporary.persist(&path))
        .map_err(|source| Error::Write { path: path.clone(), source })?;
    Ok(true)
}

/// Writes into a temporary file, which only its owner can read, and gives it its name.
fn written<T>(
    folder: &Path,
    text: &str,
    name: impl FnOnce(tempfile::NamedTempFile) -> Result<T, tempfile::PersistError>,
) -> io::Result<()> {
    let mut temporary = tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(FILE_MODE))
        .tempfile_in(folder)?;
    temporary.write_all(text.as_bytes())?;
    temporary.as_file().sync_all()?;
    name(temporary).map(drop).map_err(|error| error.error)
}
