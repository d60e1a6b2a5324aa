//! The HTTP server: one thread, a bounded number of connections, and a bounded time for each.
//!
//! A connection carries one request. The one that is open the longest makes room for a new one, so that those who only hold connections
//! open shut nobody out.

use crate::accept::Form;
use crate::published::Publisher;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, VARY};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use pipefill_core::problem::Problem;
use pipefill_observe::Metrics;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

/// Connections that are open at once.
const CONNECTIONS_MAX: usize = 64;
/// A request has come by then, …
const REQUEST_WITHIN: Duration = Duration::from_secs(5);
/// … and an answer has gone by then.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);
/// What is read of a request, and its headers.
const REQUEST_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 64;
/// Where no connection can be taken (no file is left), the next one is tried after so long.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// A sample of the sockets is missing where it is late by this many intervals and this time.
const LATE_INTERVALS: u32 = 3;
const LATE: Duration = Duration::from_secs(5);

const PATHS: &str = "/metrics: OpenMetrics, or Prometheus' text\n/connections: the last findings as JSON\n/healthz: whether it still looks\n";

/// The server. It ends when this is dropped.
#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    publisher: Publisher,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Answers at `listener` with `metrics`, until newer ones are published, which is to happen every `every`.
    ///
    /// # Errors
    /// [`Problem`] where this machine lets us have no thread or no events of sockets.
    pub fn start(
        listener: std::net::TcpListener,
        metrics: Metrics,
        every: Duration,
    ) -> Result<Self, Problem> {
        let refused = |error: io::Error| {
            Problem::machine(format!("the server of --listen can't start: {error}"), "leave --listen out")
        };
        let address = listener.local_addr().map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let runtime = Builder::new_current_thread().enable_io().enable_time().build().map_err(refused)?;
        let listener = {
            let _events = runtime.enter();
            TcpListener::from_std(listener).map_err(refused)?
        };
        let publisher = Publisher::new(metrics);
        let answering = serve(listener, publisher.clone(), every);
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::Builder::new()
            .name("endpoint".to_owned())
            .spawn(move || {
                runtime.spawn(answering);
                // Sent or dropped, it ends the runtime, which cuts what is open.
                let _dropped = runtime.block_on(stopped);
            })
            .map_err(refused)?;
        Ok(Self { address, publisher, stop: Some(stop), thread: Some(thread) })
    }

    /// Answers with `metrics` from now on.
    pub fn publish(&self, metrics: Metrics) {
        self.publisher.publish(metrics);
    }

    /// Where it answers.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // What it does ends with it.
            let _panicked = thread.join();
        }
    }
}

/// Takes connections, one after the other.
async fn serve(listener: TcpListener, publisher: Publisher, every: Duration) {
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_AGAIN).await;
            continue;
        };
        open.retain(|connection| !connection.is_finished());
        if open.len() >= CONNECTIONS_MAX {
            open.pop_front().iter().for_each(AbortHandle::abort);
        }
        let answered = timeout(ANSWER_WITHIN, converse(stream, publisher.clone(), every));
        open.push_back(tokio::spawn(answered).abort_handle());
    }
}

/// One request and its answer.
async fn converse(stream: TcpStream, publisher: Publisher, every: Duration) {
    let answering = service_fn(move |request: Request<Incoming>| {
        let answer = answer(&request, &publisher, every);
        async { Ok::<_, Infallible>(answer) }
    });
    // Who sends no request, or takes no answer, hears nothing.
    let _cut = http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_WITHIN)
        .max_buf_size(REQUEST_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), answering)
        .await;
}

fn answer(request: &Request<Incoming>, publisher: &Publisher, every: Duration) -> Response<Full<Bytes>> {
    const PLAIN: &str = "text/plain; charset=utf-8";
    let plain = |status, text: String| respond(status, PLAIN, text.into());
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let mut response =
            plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered\n".to_owned());
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let path = request.uri().path();
    if path == "/" {
        return plain(StatusCode::OK, PATHS.to_owned());
    }
    if !["/metrics", "/connections", "/healthz"].contains(&path) {
        return plain(StatusCode::NOT_FOUND, format!("nothing is here; there is\n{PATHS}"));
    }
    let published = publisher.last();
    match path {
        "/metrics" => {
            let accept = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
            let form = Form::preferred(&accept.collect::<Vec<_>>().join(","));
            respond(StatusCode::OK, form.content_type(), published.metrics(form))
        }
        "/connections" => respond(StatusCode::OK, "application/json", published.connections()),
        _ => {
            let age = published.age();
            if age > every * LATE_INTERVALS + LATE {
                let text = format!("the sockets were last sampled {} s ago\n", age.as_secs());
                return plain(StatusCode::SERVICE_UNAVAILABLE, text);
            }
            plain(StatusCode::OK, "ok\n".to_owned())
        }
    }
}

fn respond(status: StatusCode, content_type: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
