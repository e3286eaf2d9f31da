//! The connection loop: header timeouts, a bound on connections, and draining.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use super::app::App;
use super::router::router;
use super::waiting::{Places, Waiting};

/// Largest request head, and most header fields in it, that reach [`super::head`]. Beyond these, and for what is no HTTP
/// at all, hyper answers by itself and leaves no hook to give the answer a body.
const MAX_HEAD_BYTES: usize = 64 << 10;
const MAX_HEAD_FIELDS: usize = 512;

/// Time to write the last answers after the server gave up.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Every accepted request was answered.
    All,
    /// The drain time was over: what was left got a 503.
    OutOfTime,
    /// It was told to stop at once: what was left got a 503.
    Aborted,
}

/// Serves until `stop` resolves, then drains: what was accepted is finished, new requests get 503, and it returns when
/// all is answered. Once the drain time is over or `abort` resolves, what is left gets 503 too.
pub async fn serve(
    app: Arc<App>,
    listener: TcpListener,
    stop: impl Future<Output = ()>,
    abort: impl Future<Output = ()>,
) -> Drained {
    let routes = TowerToHyperService::new(router(Arc::clone(&app)));
    let places = Places::new(app.limits.connections, app.limits.crowded_idle_time);
    let (drain, draining) = watch::channel(false);
    // A connection that was open before the stop holds a clone of this; `all_done` ends when the last is dropped.
    let (open, mut all_done) = mpsc::channel::<()>(1);
    let mut stop = std::pin::pin!(stop);
    loop {
        let (stream, place) = tokio::select! {
            accepted = accept(&listener, &places) => accepted,
            () = &mut stop => {
                app.stop();
                // Nobody receives if there is no connection.
                let _ = drain.send(true);
                break;
            }
        };
        tokio::spawn(connection(
            stream,
            routes.clone(),
            &app,
            (places.clone(), place),
            Some((draining.clone(), open.clone())),
        ));
    }
    drop(open);
    // New connections are still taken, so that their callers read 503 and Retry-After and not a refused connection.
    let mut out_of_time = std::pin::pin!(tokio::time::sleep(app.limits.drain_time));
    let mut abort = std::pin::pin!(abort);
    let drained = loop {
        tokio::select! {
            _ = all_done.recv() => break Drained::All,
            () = &mut out_of_time => break Drained::OutOfTime,
            () = &mut abort => break Drained::Aborted,
            (stream, place) = accept(&listener, &places) => {
                tokio::spawn(connection(stream, routes.clone(), &app, (places.clone(), place), None));
            }
        }
    };
    if drained == Drained::All {
        app.scheduler.close();
    } else {
        app.abort();
        // A connection whose caller reads nothing does not hold up the end.
        let _ = tokio::time::timeout(LAST_WORDS, all_done.recv()).await;
    }
    drained
}

async fn accept(listener: &TcpListener, places: &Places) -> (TcpStream, OwnedSemaphorePermit) {
    loop {
        let place = places.take().await;
        match listener.accept().await {
            Ok((stream, _)) => return (stream, place),
            Err(error) => {
                // Out of file descriptors, or a connection that was reset before it was taken.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

/// Serves one connection.
///
/// `drain` holds up the drain until the connection ends, and makes it end after the running request. A connection that
/// has asked nothing by then is let go instead: ending it at once would leave its first request, which may be on its
/// way, without an answer. It gets its 503 like the connections that are opened later and have no `drain`.
///
/// While every place is taken, a connection ends that has waited too long for a request.
fn connection(
    stream: TcpStream,
    routes: TowerToHyperService<axum::Router>,
    app: &App,
    (places, place): (Places, OwnedSemaphorePermit),
    drain: Option<(watch::Receiver<bool>, mpsc::Sender<()>)>,
) -> impl Future<Output = ()> + use<> {
    let header_time = app.limits.header_time;
    async move {
        let _place = place;
        // Answers are small and awaited: no waiting for more to send.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY");
        }
        let waiting = Arc::new(Waiting::new());
        let service = service_fn({
            let waiting = Arc::clone(&waiting);
            move |request| {
                waiting.begin_request();
                let answer = routes.call(request);
                let waiting = Arc::clone(&waiting);
                async move {
                    let answer = answer.await;
                    waiting.end_request();
                    answer
                }
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(header_time)
            .max_buf_size(MAX_HEAD_BYTES)
            .max_headers(MAX_HEAD_FIELDS)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let (draining, open) = drain.unzip();
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = told_to_drain(draining) => {
                if waiting.has_asked() {
                    connection.as_mut().graceful_shutdown();
                } else {
                    drop(open);
                }
                connection.await
            }
            () = places.wanted(&waiting) => {
                if !waiting.has_asked() {
                    return;
                }
                // Ends at once, unless a request has just begun.
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "connection");
        }
    }
}

async fn told_to_drain(draining: Option<watch::Receiver<bool>>) {
    match draining {
        // An error means that the server is gone, which ends the connection as well.
        Some(mut draining) => _ = draining.wait_for(|draining| *draining).await,
        None => std::future::pending().await,
    }
}
