//! One HTTP/3 connection: its requests to the router, their answers into its streams.

use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::http::Response;
use bytes::{Buf as _, Bytes};
use h3::error::{Code, StreamError};
use h3::server::{RequestResolver, RequestStream};
use h3_quinn as quic;
use http_body::{Body as _, Frame};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::guard::{Bounded, Guarded, MOST_HEAD};
use crate::h2::{complete, of_no_connection};
use crate::listener::Connection;
use crate::now;
use crate::pacer::Pacer;

/// How long a client has for a request's head once it has begun its stream.
const HEAD: Duration = Duration::from_secs(10);
/// How long the ends of streams may be on their way when a connection is closed: QUIC forgets then
/// what was not acknowledged, and a client may take 25 ms for that.
const LINGER: Duration = Duration::from_millis(200);

type Sender = RequestStream<quic::SendStream<Bytes>, Bytes>;
type Receiver = RequestStream<Bounded<quic::RecvStream>, Bytes>;
type Resolver = RequestResolver<Guarded<quic::Connection>, Bytes>;

/// What a connection's requests are given.
#[derive(Clone)]
pub(super) struct Served {
    pub(super) router: TowerToHyperService<Router>,
    pub(super) pacer: Pacer,
}

/// Serves a connection until it is over.
pub(super) async fn serve(
    quic: quinn::Connection,
    connection: Connection,
    served: Served,
    mut closing: watch::Receiver<bool>,
) {
    let mut told = pin!(async move {
        let _ = closing.wait_for(|closing| *closing).await;
    });
    let mut builder = h3::server::builder();
    // Nothing beside what answers: each write of ours is a frame of a script.
    builder.send_grease(false).max_field_section_size(MOST_HEAD);
    let building = builder.build(Guarded(quic::Connection::new(quic.clone())));
    let mut h3 = tokio::select! {
        built = building => match built {
            Ok(h3) => h3,
            Err(_) => return,
        },
        () = &mut told => return,
    };
    let mut requests = JoinSet::new();
    let mut listening = true;
    loop {
        tokio::select! {
            accepted = h3.accept() => {
                match accepted {
                    Ok(Some(resolver)) => {
                        requests.spawn(request(resolver, connection.clone(), served.clone()));
                    }
                    // The client asks for nothing more, and all it asked for is answered.
                    Ok(None) => return linger(&quic).await,
                    // A client that broke off is in the ledgers; there is nobody else to tell.
                    Err(_) => return,
                }
            }
            Some(_) = requests.join_next() => {}
            () = &mut told, if listening => {
                listening = false;
                if h3.shutdown(0).await.is_err() {
                    return;
                }
            }
        }
        if !listening && requests.is_empty() {
            return linger(&quic).await;
        }
    }
}

/// Lets what was sent last arrive.
async fn linger(quic: &quinn::Connection) {
    let _ = tokio::time::timeout(LINGER, quic.closed()).await;
}

/// Answers one request.
async fn request(resolver: Resolver, connection: Connection, served: Served) {
    // Whoever does not say what it wants is let go; dropping its stream tells it so.
    let resolved = tokio::time::timeout(HEAD, resolver.resolve_request()).await;
    let Ok(Ok((head, stream))) = resolved else { return };
    let (sender, receiver) = stream.split();
    let connection = connection.of_stream(sender.send_id().into_inner());
    let body = Arc::new(Mutex::new(Receiving { receiver, ended: false }));
    let mut request = head.map(|()| Received(Arc::clone(&body)));
    let extensions = request.extensions_mut();
    extensions.insert(ConnectInfo(connection.clone()));
    extensions.insert(served.pacer);
    let unwanted = connection.packets(|packets| packets.open(connection.stream()));
    let _open = Open(connection.clone());
    let Some(unwanted) = unwanted else { return };
    if answer(request, sender, served.router, &connection, &unwanted).await.is_none() {
        connection.forget();
    }
    // Only now: a client whose request has not ended yet, by a few microseconds, is not to be told
    // that nobody reads on before it has the answer.
    drop(body);
}

/// A stream whose answer is being sent.
struct Open(Connection);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.packets(|packets| packets.close(self.0.stream()));
    }
}

/// Answers a request; none if its stream is reset or its connection gone before the end.
async fn answer(
    request: Request<Received>,
    mut sender: Sender,
    router: TowerToHyperService<Router>,
    connection: &Connection,
    unwanted: &Notify,
) -> Option<()> {
    let response = tokio::select! {
        response = router.call(request) => response.unwrap_or_else(|never| match never {}),
        () = unwanted.notified() => {
            sender.stop_stream(Code::H3_REQUEST_CANCELLED);
            return None;
        }
    };
    let (mut head, body) = response.into_parts();
    of_no_connection(&mut head.headers);
    let ended = body.is_end_stream();
    complete(&mut head.headers, body.size_hint().exact().filter(|_| !ended));
    sender.send_response(Response::from_parts(head, ())).await.ok()?;
    send(body, sender, connection, unwanted).await
}

/// Sends a body, each part as it comes.
async fn send(
    body: Body,
    mut sender: Sender,
    connection: &Connection,
    unwanted: &Notify,
) -> Option<()> {
    let mut body = pin!(body);
    loop {
        let part = tokio::select! {
            part = poll_fn(|context| body.as_mut().poll_frame(context)) => part,
            () = unwanted.notified() => {
                sender.stop_stream(Code::H3_REQUEST_CANCELLED);
                return None;
            }
        };
        match part {
            Some(Ok(frame)) => {
                // Our bodies have no trailers.
                let data = frame.into_data().unwrap_or_default();
                if !data.is_empty() {
                    hand_over(data, &mut sender, connection).await.ok()?;
                }
            }
            Some(Err(_)) => {
                sender.stop_stream(Code::H3_INTERNAL_ERROR);
                return None;
            }
            None => return sender.finish().await.ok(),
        }
    }
}

/// Gives QUIC a part of a body, and the turn to send it.
async fn hand_over(
    data: Bytes,
    sender: &mut Sender,
    connection: &Connection,
) -> Result<(), StreamError> {
    let stream = connection.stream();
    connection.packets(|packets| packets.handed(stream, data.len() as u64));
    let at = now();
    let mut waits = false;
    {
        let mut sending = pin!(sender.send_data(data));
        poll_fn(|context| {
            let sent = sending.as_mut().poll(context);
            if sent.is_pending() {
                waits = true;
                connection.no_window();
            }
            sent
        })
        .await?;
    }
    if waits {
        connection.window();
    }
    // QUIC's own task, woken by what it was given, runs before this one runs on.
    tokio::task::yield_now().await;
    connection.packets(|packets| packets.may_have_left(stream, at));
    Ok(())
}

/// A request's body, as it is read.
struct Received(Arc<Mutex<Receiving>>);

struct Receiving {
    receiver: Receiver,
    ended: bool,
}

impl Received {
    fn lock(&self) -> MutexGuard<'_, Receiving> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl http_body::Body for Received {
    type Data = Bytes;
    type Error = StreamError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StreamError>>> {
        let Receiving { receiver, ended } = &mut *self.lock();
        if *ended {
            return Poll::Ready(None);
        }
        let came = match ready!(receiver.poll_recv_data(context)) {
            Ok(Some(mut data)) => Some(Ok(Frame::data(data.copy_to_bytes(data.remaining())))),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        };
        *ended = !matches!(came, Some(Ok(_)));
        Poll::Ready(came)
    }

    fn is_end_stream(&self) -> bool {
        self.lock().ended
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        if !self.ended {
            // What nobody reads need not be sent; the answer stands (RFC 9114, 4.1).
            self.receiver.stop_sending(Code::H3_NO_ERROR);
        }
    }
}
