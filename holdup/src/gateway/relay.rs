//! One answer, read natively and passed on as it comes.
//!
//! The reader runs on a thread of its own, as every native run does, and never waits for the
//! page: what the page has not taken yet lies in memory, bounded by the answer's own limit. So a
//! slow page shows as a slow page, and not as a slow path.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::Stream;
use measure::cell::HeaderSet;
use measure::chat::{ChatAnswer, ChatReader};
use measure::{Arrivals, End, Reader, Stamp};
use recv_client::{Ask, BROWSER_ENCODINGS, Form, Http, Limit, Secure};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use url::Url;

use super::request::Request;
use super::seen::{Book, Seen};

/// How long an answer may take: what a reasoning model needs for a long one.
const TIME: Duration = Duration::from_secs(300);
/// How long it may be silent: some think for a minute before the first token.
const SILENCE: Duration = Duration::from_secs(120);
/// Most bytes of an answer: a hundred times the longest that models write.
const BYTES: u64 = 32 << 20;

/// Fields of a response's head that say something of the hops, and nothing of the person.
const TELLING: [&str; 16] = [
    "age",
    "alt-svc",
    "cache-control",
    "cf-cache-status",
    "content-encoding",
    "content-type",
    "retry-after",
    "server",
    "transfer-encoding",
    "vary",
    "via",
    "x-accel-buffering",
    "x-cache",
    "x-envoy-upstream-service-time",
    "x-powered-by",
    "x-proxy-cache",
];

/// When bytes were handed to the page's connection: the end of each part, and the time.
type Handed = Arc<Mutex<Vec<(u64, Stamp)>>>;

/// How a target is reached.
pub(super) struct Way<'a> {
    pub(super) address: SocketAddr,
    /// Absent for a plain connection.
    pub(super) secure: Option<Secure>,
    /// Which HTTP is spoken.
    pub(super) http: Http,
    /// The page's own, which a browser would name.
    pub(super) origin: &'a str,
}

/// Begins to read; returns what the page is to be answered with. The permit is given back when
/// the answer has ended.
pub(super) fn begin(
    request: Request,
    way: Way<'_>,
    book: Book,
    permit: OwnedSemaphorePermit,
) -> Body {
    let (sender, parts) = unbounded_channel();
    let handed = Handed::default();
    let mut ask = ask(&request, way);
    let leave = Leave(Arc::default());
    ask.leave = Some(Arc::clone(&leave.0));
    let given = Arc::clone(&handed);
    std::thread::spawn(move || {
        wire::priority::raise();
        let mut reader = ChatReader::new(request.shape, None);
        let observed = recv_client::observe_with(&ask, request.run, &mut |at, bytes| {
            // The page first: what is made of the bytes here can wait.
            let _ = sender.send(Bytes::copy_from_slice(bytes));
            // More than is noted of any answer: the bytes go on, the figures end there.
            let _ = reader.read(at, bytes);
        });
        drop(sender);
        let record = reader.finish();
        let mut arrivals = observed.arrivals;
        arrivals.transport = Some(observed.transport);
        arrivals.reader = Reader::Tap;
        record.enter(&mut arrivals);
        forwarded(&mut arrivals, &given);
        if let End::Failed { what } = &mut arrivals.end {
            *what = request.mask(what);
        }
        let (call, status) = (arrivals.call, arrivals.status);
        let mut answer = ChatAnswer::of(&record, call, status, &arrivals.end);
        if let measure::measurement::Outcome::Failed { what } = &mut answer.outcome {
            *what = request.mask(what);
        }
        let fields = observed.head.map(|head| head.headers).unwrap_or_default();
        let leads_to = leads_to(&request.url, status, &fields);
        let telling = |name: &str| TELLING.iter().any(|own| name.eq_ignore_ascii_case(own));
        let head = fields
            .into_iter()
            .filter(|(name, _)| telling(name))
            .map(|(name, value)| (name.to_ascii_lowercase(), request.mask(&value)))
            .collect();
        book.end(request.run, Seen { arrivals, answer, head, leads_to });
        drop(permit);
    });
    Body::from_stream(Parts { parts, handed, bytes: 0, _leave: leave })
}

fn ask(request: &Request, way: Way<'_>) -> Ask {
    let url = &request.url;
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_string(),
    };
    let mut ask = Ask::plain(way.address, path);
    ask.secure = way.secure;
    ask.http = way.http;
    let host = url.host_str().unwrap_or_default();
    ask.target.host = url.port().map_or(host.to_string(), |port| format!("{host}:{port}"));
    ask.target.origin = way.origin.to_string();
    ask.headers = HeaderSet::ChromiumFetch;
    let encoding = request.accept_encoding.as_deref().unwrap_or(BROWSER_ENCODINGS);
    ask.accept_encoding = Some(encoding.to_string());
    ask.form = Form {
        method: request.method.into(),
        fields: request.fields.clone(),
        body: request.body.clone(),
        ..Form::default()
    };
    ask.named = false;
    ask.limit = Some(Limit { time: TIME, bytes: BYTES });
    ask.options.read_timeout = Some(SILENCE);
    ask
}

/// Enters when each delivery's bytes were handed on.
fn forwarded(arrivals: &mut Arrivals, handed: &Handed) {
    let handed = handed.lock().unwrap_or_else(PoisonError::into_inner);
    let mut end = 0;
    for delivery in &mut arrivals.deliveries {
        let body = delivery.body_bytes.unwrap_or_default();
        end += body;
        if body > 0 {
            let at = handed.partition_point(|(own, _)| *own < end);
            delivery.forwarded = handed.get(at).map(|(_, stamp)| *stamp);
        }
    }
}

/// Where a redirect leads, without what may be secret.
fn leads_to(url: &Url, status: Option<u16>, fields: &[(String, String)]) -> Option<String> {
    status.filter(|status| (300..400).contains(status))?;
    let (_, location) = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("location"))?;
    let mut to = url.join(location).ok()?;
    to.set_query(None);
    to.set_fragment(None);
    let _ = to.set_username("");
    let _ = to.set_password(None);
    Some(to.to_string())
}

/// The parts of an answer as they come; each is noted when it is handed to the connection.
struct Parts {
    parts: UnboundedReceiver<Bytes>,
    handed: Handed,
    bytes: u64,
    _leave: Leave,
}

/// Tells the reader to leave when the page does: a service goes on writing, and is paid for it,
/// as long as somebody reads.
struct Leave(Arc<AtomicBool>);

impl Drop for Leave {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Stream for Parts {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Poll::Ready(part) = self.parts.poll_recv(context) else { return Poll::Pending };
        let Some(part) = part else { return Poll::Ready(None) };
        self.bytes += part.len() as u64;
        let noted = (self.bytes, emitter::now());
        self.handed.lock().unwrap_or_else(PoisonError::into_inner).push(noted);
        Poll::Ready(Some(Ok(part)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_says_where_it_leads_and_nothing_secret() {
        let url = Url::parse("https://chat.example/v1/chat?key=secret").unwrap();
        let fields = |to: &str| vec![("Location".to_string(), to.to_string())];
        let said = leads_to(&url, Some(302), &fields("//u:secret@login.example/in?back=secret#s"));
        assert_eq!(said.as_deref(), Some("https://login.example/in"));
        assert_eq!(leads_to(&url, Some(200), &fields("/x")), None);
        assert_eq!(leads_to(&url, Some(301), &[]), None);
    }

    #[test]
    fn each_delivery_is_handed_on_when_its_last_byte_is() {
        let mut arrivals = Arrivals::begin(measure::RunId(1), Reader::Tap, Stamp(0));
        for (at, bytes) in [(1, 0), (2, 10), (3, 5), (4, 7)] {
            arrivals.deliveries.push(measure::Delivery {
                body_bytes: Some(bytes),
                ..measure::Delivery::at(Stamp(at))
            });
        }
        // The second delivery went in two parts; the last one was never taken.
        let handed = Handed::default();
        handed.lock().unwrap().extend([(6, Stamp(20)), (10, Stamp(21)), (15, Stamp(22))]);
        forwarded(&mut arrivals, &handed);
        let stamps: Vec<_> = arrivals.deliveries.iter().map(|it| it.forwarded).collect();
        assert_eq!(stamps, [None, Some(Stamp(21)), Some(Stamp(22)), None]);
    }
}
