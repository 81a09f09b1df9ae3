//! TLS before a service. The pinned configurations speak plain HTTP to their origin, so what they
//! are led to, and the direct way too, is this: bytes as they come, in TLS towards the service.
//! What it costs is in every row alike.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use recv_client::Secure;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::exit::Problem;

/// How long a connection with its handshake may take.
const CONNECT: Duration = Duration::from_secs(10);

/// A way to a service over TLS; dropped, it is gone.
pub(super) struct Pipe {
    address: SocketAddr,
    _runtime: Runtime,
}

impl Pipe {
    /// Shakes hands with the service once, without a request, and stands before it.
    pub(super) fn start(service: SocketAddr, secure: &Secure) -> Result<Pipe, Problem> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(Problem::nothing)?;
        let secure = secure.clone();
        let address = runtime.block_on(async {
            connect(service, &secure).await?;
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
            let listener = listener.map_err(Problem::nothing)?;
            let address = listener.local_addr().map_err(Problem::nothing)?;
            tokio::spawn(async move {
                while let Ok((near, _)) = listener.accept().await {
                    tokio::spawn(pass(near, service, secure.clone()));
                }
            });
            Ok::<_, Problem>(address)
        })?;
        Ok(Pipe { address, _runtime: runtime })
    }

    /// Where it listens, without TLS.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn pass(mut near: TcpStream, service: SocketAddr, secure: Secure) {
    // What cannot be had closes the connection: the proxy says so in its own words.
    let Ok(mut far) = connect(service, &secure).await else { return };
    let _ = near.set_nodelay(true);
    let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
}

async fn connect(service: SocketAddr, secure: &Secure) -> Result<TlsStream<TcpStream>, Problem> {
    let (config, name) = secure.http1();
    let host = name.to_str().into_owned();
    let failed = |why: String| {
        Problem::nothing(format!(
            "no TLS with {host} at {service}: {why}; an authority of your own is named by --cacert FILE"
        ))
    };
    let shaking = async {
        let stream = TcpStream::connect(service).await?;
        stream.set_nodelay(true)?;
        TlsConnector::from(config).connect(name.clone(), stream).await
    };
    match tokio::time::timeout(CONNECT, shaking).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed(format!("no answer within {} s", CONNECT.as_secs()))),
    }
}
