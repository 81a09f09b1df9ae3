//! Whom TLS trusts, with a note of why it did not: QUIC's library tells a refused certificate by
//! its alert alone.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

/// Asks another verifier and keeps what it refused.
#[derive(Debug)]
pub(super) struct Witness {
    verifier: Arc<dyn ServerCertVerifier>,
    refused: Mutex<Option<Error>>,
}

impl Witness {
    pub(super) fn of(verifier: Arc<dyn ServerCertVerifier>) -> Arc<Witness> {
        Arc::new(Witness { verifier, refused: Mutex::new(None) })
    }

    /// Why a certificate was refused, if one was.
    pub(super) fn refused(&self) -> Option<Error> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note<T>(&self, verified: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &verified {
            *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        }
        verified
    }
}

impl ServerCertVerifier for Witness {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verifier = &self.verifier;
        self.note(verifier.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        ))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.note(self.verifier.verify_tls12_signature(message, certificate, signed))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.note(self.verifier.verify_tls13_signature(message, certificate, signed))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}
