//! Whom TLS trusts: the system's authorities and those of a file, and what a refused
//! certificate is told as.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore,
    SignatureScheme,
};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

/// No TLS to be had with these authorities or that name.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file cannot be read as PEM.
    #[error("the certificates in {file}: {why}")]
    File {
        /// Which file.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nobody to trust.
    #[error("this system has no certificates of authorities{0}: name some by --cacert FILE")]
    Nobody(String),
    /// A name that no certificate could have.
    #[error("{0:?} is no name or address that a certificate could be for")]
    Name(String),
    /// The library refuses.
    #[error("TLS cannot be set up: {0}")]
    Library(#[from] rustls::Error),
}

/// Authorities that are trusted.
#[derive(Clone, Debug)]
pub struct Trust {
    config: Arc<ClientConfig>,
    verifier: Arc<Verifier>,
}

impl Trust {
    /// The system's authorities and, if a file is named, every certificate in it.
    ///
    /// # Errors
    /// When the file holds none, or nobody is trusted at all.
    ///
    /// A server may show a certificate of the file itself, also one that is an authority's own:
    /// that is what `openssl req -x509` makes.
    pub fn of(cacert: Option<&Path>) -> Result<Trust, TrustError> {
        let system = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        // Systems carry old certificates that nobody could be verified by: those are passed over.
        roots.add_parsable_certificates(system.certs);
        let named = cacert.map(in_file).transpose()?.unwrap_or_default();
        for certificate in &named {
            roots.add(certificate.clone()).map_err(|error| TrustError::File {
                file: shown(cacert),
                why: format!("one is no certificate ({error})"),
            })?;
        }
        if roots.is_empty() {
            let why = system.errors.first().map(|error| format!(" ({error})"));
            return Err(TrustError::Nobody(why.unwrap_or_default()));
        }
        Trust::with(roots, named)
    }

    /// The authorities of a PEM text, and nobody else.
    ///
    /// # Errors
    /// When it holds none.
    pub fn only(pem: &str) -> Result<Trust, TrustError> {
        let refused = |why: String| TrustError::File { file: "the authority".into(), why };
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            let certificate = certificate.map_err(|error| refused(error.to_string()))?;
            roots.add(certificate).map_err(|error| refused(error.to_string()))?;
        }
        if roots.is_empty() {
            return Err(refused("it holds no certificate".into()));
        }
        Trust::with(roots, Vec::new())
    }

    fn with(
        roots: RootCertStore,
        named: Vec<CertificateDer<'static>>,
    ) -> Result<Trust, TrustError> {
        let provider = Arc::new(ring::default_provider());
        let verifier = verifier(roots, named, &provider)?;
        let config = Arc::new(config(Arc::clone(&verifier), provider)?);
        Ok(Trust { config, verifier })
    }

    /// TLS with a server of that name or address.
    ///
    /// # Errors
    /// When it is neither.
    pub fn secure(&self, host: &str) -> Result<Secure, TrustError> {
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        let name = ServerName::try_from(bare.to_owned())
            .map_err(|_| TrustError::Name(host.chars().take(80).collect()))?;
        let verifier = Arc::clone(&self.verifier);
        Ok(Secure { config: Arc::clone(&self.config), verifier, name })
    }
}

fn shown(file: Option<&Path>) -> String {
    file.map(|file| file.display().to_string()).unwrap_or_default()
}

fn in_file(file: &Path) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let refused = |why: String| TrustError::File { file: shown(Some(file)), why };
    let certificates: Vec<_> = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| refused(error.to_string()))?;
    if certificates.is_empty() {
        return Err(refused("it holds no \"BEGIN CERTIFICATE\" (is it PEM?)".into()));
    }
    Ok(certificates)
}

fn verifier(
    roots: RootCertStore,
    named: Vec<CertificateDer<'static>>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<Verifier>, rustls::Error> {
    let library =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
            .build()
            .map_err(|error| rustls::Error::General(error.to_string()))?;
    Ok(Arc::new(Verifier { library, named }))
}

fn config(
    verifier: Arc<Verifier>,
    provider: Arc<CryptoProvider>,
) -> Result<ClientConfig, rustls::Error> {
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    // Every connection makes the whole handshake, so that repeated ones are alike.
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// TLS with one server.
#[derive(Clone)]
pub struct Secure {
    pub(crate) config: Arc<ClientConfig>,
    verifier: Arc<Verifier>,
    pub(crate) name: ServerName<'static>,
}

impl Secure {
    /// Who says whether a certificate is good.
    pub(crate) fn verifier(&self) -> Arc<dyn ServerCertVerifier> {
        Arc::clone(&self.verifier) as _
    }

    /// For who shakes hands by himself, offering HTTP/1.1.
    pub fn http1(&self) -> (Arc<ClientConfig>, ServerName<'static>) {
        let mut config = (*self.config).clone();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        (Arc::new(config), self.name.clone())
    }
}

impl fmt::Debug for Secure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secure").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A certificate that nobody but itself vouches for.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("self-signed")]
pub(crate) struct SelfSigned;

/// The library's own verification, which does not tell a self-signed certificate from one of an
/// unknown authority, and takes no authority's own for a server's.
#[derive(Debug)]
struct Verifier {
    library: Arc<WebPkiServerVerifier>,
    /// Certificates that the user named.
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.library.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        let Err(error) = verified else { return verified };
        let authority = is_authority_as_server(&error);
        if authority && self.named.contains(&end_entity.clone().into_owned()) {
            // The library has found its time to be right before it asked what it is.
            verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        let unknown = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        if (authority || error == unknown) && is_self_signed(end_entity) {
            return Err(CertificateError::Other(OtherError(Arc::new(SelfSigned))).into());
        }
        Err(error)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.library.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.library.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.library.supported_verify_schemes()
    }
}

/// Whether the fault is that an authority's certificate stands in a server's place.
pub(crate) fn is_authority_as_server(error: &rustls::Error) -> bool {
    let rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(cause))) = error
    else {
        return false;
    };
    cause.downcast_ref() == Some(&webpki::Error::CaUsedAsEndEntity)
}

fn is_self_signed(certificate: &CertificateDer<'_>) -> bool {
    webpki::EndEntityCert::try_from(certificate)
        .is_ok_and(|certificate| certificate.issuer() == certificate.subject())
}
