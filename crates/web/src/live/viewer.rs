//! One viewer: a body that never ends, made of what the viewer has not seen yet whenever it can take more.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::watch;

use super::Live;

/// How often a viewer hears something at least: middlemen end silent connections.
const PING: Duration = Duration::from_secs(15);
/// What a browser sees first: after an end it waits so long, in milliseconds, and comes again.
const HELLO: &[u8] = b"retry: 1000\n\n";

/// The body of a viewer. It ends when another stream begins: viewers come again by themselves, and get everything.
pub(crate) fn viewer(live: &Arc<Live>) -> Stream {
    let (sender, receiver) = channel(1);
    let changed = live.changed.subscribe();
    live.start();
    tokio::spawn(feed(live.clone(), sender, changed));
    Stream(receiver)
}

async fn feed(live: Arc<Live>, sender: Sender<Bytes>, mut changed: watch::Receiver<u64>) {
    if sender.send(Bytes::from_static(HELLO)).await.is_err() {
        return;
    }
    let mut place = None;
    // Nothing is made before the viewer has taken the last part.
    while let Ok(permit) = sender.reserve().await {
        let next = loop {
            changed.mark_unchanged();
            match news(&live, &mut place) {
                News::Some(bytes) => break bytes,
                News::None => {}
                News::Over => return,
            }
            tokio::select! {
                more = changed.changed() => if more.is_err() { return },
                () = tokio::time::sleep(PING) => break Bytes::from_static(b": ping\n\n"),
                () = sender.closed() => return,
            }
        };
        permit.send(next);
    }
}

enum News {
    Some(Bytes),
    None,
    /// The stream of this viewer is over.
    Over,
}

/// What the viewer at this place has not seen: its epoch, and the revision that it has.
fn news(live: &Live, place: &mut Option<(u64, u64)>) -> News {
    let mut picture = live.picture();
    if !picture.is_shown() {
        return if place.is_some() { News::Over } else { News::None };
    }
    let now = (picture.epoch(), picture.revision());
    let (epoch, seen) = place.unwrap_or((now.0, 0));
    if epoch != now.0 {
        return News::Over;
    }
    *place = Some(now);
    match picture.since(seen) {
        Some(bytes) if !bytes.is_empty() => News::Some(bytes),
        _ => News::None,
    }
}

/// Parts as they come.
pub(crate) struct Stream(Receiver<Bytes>);

impl Body for Stream {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
    }
}
