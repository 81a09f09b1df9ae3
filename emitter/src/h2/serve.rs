//! One HTTP/2 connection: its requests to the router, their answers into its streams.

use std::future::Future as _;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderMap, HeaderValue, Response, header};
use bytes::Bytes;
use h2::server::{Builder, SendResponse};
use h2::{RecvStream, SendStream};
use http_body::{Body as _, Frame};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::listener::Connection;
use crate::pacer::Pacer;

/// Streams that one connection may have at once: as many as common servers allow, or more.
const MAX_STREAMS: u32 = 256;
/// How HTTP/2 begins where both sides know it beforehand; no HTTP/1 method does.
const PREFACE: &[u8; 4] = b"PRI ";
/// Between two looks at a preface that came in pieces, which hardly happens.
const PIECES: Duration = Duration::from_millis(5);

/// Whether the client begins to speak HTTP/2; what it has sent is left where it is.
pub(crate) async fn by_prior_knowledge(stream: &TcpStream) -> bool {
    let mut first = [0; PREFACE.len()];
    loop {
        match stream.peek(&mut first).await {
            Ok(length) if length == first.len() => return first == *PREFACE,
            Ok(length) if length > 0 && PREFACE.starts_with(&first[..length]) => {
                tokio::time::sleep(PIECES).await;
            }
            // Another protocol, or nobody any more: HTTP/1 sees to it.
            _ => return false,
        }
    }
}

/// Serves a connection until it is over.
pub(crate) async fn serve(
    io: impl AsyncRead + AsyncWrite + Unpin,
    connection: Connection,
    router: TowerToHyperService<Router>,
    pacer: Pacer,
    mut closing: watch::Receiver<bool>,
) {
    let mut told = pin!(closing.wait_for(|closing| *closing));
    let mut builder = Builder::new();
    builder.max_concurrent_streams(MAX_STREAMS);
    let mut h2 = tokio::select! {
        shaken = builder.handshake::<_, Bytes>(io) => match shaken {
            Ok(h2) => h2,
            Err(_) => return,
        },
        _ = &mut told => return,
    };
    let mut listening = true;
    loop {
        // A client that broke off is in the ledgers; there is nobody else to tell.
        let accepted = tokio::select! {
            accepted = h2.accept() => accepted,
            _ = &mut told, if listening => {
                listening = false;
                if h2.has_streams() {
                    h2.graceful_shutdown();
                } else {
                    // Gracefully would be to wait for the client's answer first.
                    h2.abrupt_shutdown(h2::Reason::NO_ERROR);
                }
                continue;
            }
        };
        let Some(Ok((request, respond))) = accepted else { return };
        let stream = respond.stream_id().as_u32().into();
        let connection = connection.of_stream(stream);
        let mut request = request.map(Received);
        let extensions = request.extensions_mut();
        extensions.insert(ConnectInfo(connection.clone()));
        extensions.insert(pacer.clone());
        let router = router.clone();
        tokio::spawn(async move {
            if answer(request, respond, router, &connection).await.is_none() {
                connection.forget();
            }
        });
    }
}

/// Answers a request; none if its stream is reset or its connection gone before the end.
async fn answer(
    request: Request<Received>,
    mut respond: SendResponse<Bytes>,
    router: TowerToHyperService<Router>,
    connection: &Connection,
) -> Option<()> {
    let mut called = pin!(router.call(request));
    let response = poll_fn(|context| {
        if respond.poll_reset(context).is_ready() {
            return Poll::Ready(None);
        }
        called.as_mut().poll(context).map(|response| Some(response.unwrap_or_else(|e| match e {})))
    })
    .await?;
    let (mut head, body) = response.into_parts();
    of_no_connection(&mut head.headers);
    let ended = body.is_end_stream();
    complete(&mut head.headers, body.size_hint().exact().filter(|_| !ended));
    let stream = respond.send_response(Response::from_parts(head, ()), ended).ok()?;
    if ended { Some(()) } else { send(body, stream, connection).await }
}

/// Headers that speak of a connection make a response malformed (RFC 9113, 8.2.2; RFC 9114, 4.2).
pub(crate) fn of_no_connection(headers: &mut HeaderMap) {
    for name in [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE] {
        headers.remove(name);
    }
    headers.remove("keep-alive");
    headers.remove("proxy-connection");
}

/// What a server adds to an answer by itself, as ours does on HTTP/1.
pub(crate) fn complete(headers: &mut HeaderMap, length: Option<u64>) {
    if let Ok(date) = HeaderValue::from_str(&httpdate::fmt_http_date(SystemTime::now())) {
        headers.entry(header::DATE).or_insert(date);
    }
    if let Some(length) = length {
        headers.entry(header::CONTENT_LENGTH).or_insert(length.into());
    }
}

/// Sends a body, each part as it comes. A part is asked for before there is room for it, so that
/// what is due is handed over in time and its wait for the client's window is seen as one; the next
/// part of a stream only comes when this one has left.
async fn send(body: Body, mut stream: SendStream<Bytes>, connection: &Connection) -> Option<()> {
    let mut body = pin!(body);
    loop {
        let part = poll_fn(|context| {
            if stream.poll_reset(context).is_ready() {
                return Poll::Ready(Err(()));
            }
            body.as_mut().poll_frame(context).map(Ok)
        })
        .await
        .ok()?;
        match part {
            Some(Ok(frame)) => {
                // Our bodies have no trailers.
                let mut data = frame.into_data().unwrap_or_default();
                while !data.is_empty() {
                    let room = room(&mut stream, data.len(), connection).await?;
                    stream.send_data(data.split_to(room.min(data.len())), false).ok()?;
                }
            }
            Some(Err(_)) => {
                stream.send_reset(h2::Reason::INTERNAL_ERROR);
                return None;
            }
            None => return stream.send_data(Bytes::new(), true).ok(),
        }
    }
}

/// Waits until the client's window has room for some of so many bytes, and says for how many.
async fn room(
    stream: &mut SendStream<Bytes>,
    bytes: usize,
    connection: &Connection,
) -> Option<usize> {
    stream.reserve_capacity(bytes);
    let mut waits = false;
    poll_fn(|context| {
        if stream.poll_reset(context).is_ready() {
            return Poll::Ready(None);
        }
        loop {
            if stream.capacity() > 0 {
                if waits {
                    connection.window();
                }
                return Poll::Ready(Some(stream.capacity()));
            }
            match stream.poll_capacity(context) {
                Poll::Pending => {
                    waits = true;
                    connection.no_window();
                    return Poll::Pending;
                }
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(None),
            }
        }
    })
    .await
}

/// A request's body.
struct Received(RecvStream);

impl http_body::Body for Received {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        Poll::Ready(match ready!(self.0.poll_data(context)) {
            Some(Ok(bytes)) => {
                // It fails only for more than was received.
                let _ = self.0.flow_control().release_capacity(bytes.len());
                Some(Ok(Frame::data(bytes)))
            }
            Some(Err(error)) => Some(Err(error)),
            None => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }
}
