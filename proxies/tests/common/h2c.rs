//! The origin's HTTP/2 without TLS.

use std::net::TcpStream;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use h2::server::{self, SendResponse};
use http::{Request, Response};

use super::{BODY, LONG};

/// Whether the other side begins with HTTP/2's preface.
pub(crate) fn is_spoken(stream: &TcpStream) -> bool {
    let mut first = [0; 3];
    // Its first bytes come in one piece.
    matches!(stream.peek(&mut first), Ok(3)) && &first == b"PRI"
}

/// Answers requests until the other side ends the connection.
pub(crate) fn answer(stream: TcpStream, heads: &Mutex<Vec<String>>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        stream.set_nonblocking(true).unwrap();
        let stream = tokio::net::TcpStream::from_std(stream).unwrap();
        let Ok(mut connection) = server::handshake(stream).await else { return };
        while let Some(Ok((request, response))) = connection.accept().await {
            let line =
                format!("{} {} {:?}\n", request.method(), request.uri().path(), request.version());
            heads.lock().unwrap().push(line);
            tokio::spawn(frames(request, response));
        }
    });
}

async fn frames(request: Request<h2::RecvStream>, mut response: SendResponse<Bytes>) {
    let head = Response::builder().header("content-type", "text/event-stream").body(()).unwrap();
    let Ok(mut body) = response.send_response(head, false) else { return };
    let frames = if request.uri().path() == "/stream/long" { LONG } else { 1 };
    for left in (0..frames).rev() {
        tokio::time::sleep(Duration::from_millis(1)).await;
        if body.send_data(Bytes::from_static(BODY.as_bytes()), left == 0).is_err() {
            return;
        }
    }
}
