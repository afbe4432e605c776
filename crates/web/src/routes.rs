//! Which path is what. Every request passes the check in [`guard`] first, the files of the page too.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Query as Given, Request, State};
use axum::http::header::{ALLOW, HeaderValue, LOCATION, SET_COOKIE};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::routing::{get, post};
use ralph_core::TaskId;
use ralph_core::ids::RunId;
use ralph_ui::ports::{Ports, Refused, UserAction};
use serde::Serialize;

use crate::access::{self, Access, Names, Role};
use crate::answer::{self, Answer, because};
use crate::board::{self, Boards, Page};
use crate::live::{Live, viewer};
use crate::page;
use crate::plan::{Plans, Query};

/// The longest body of a request.
const BODY: usize = 256 * 1024;
/// How long a body may take to come.
const BODY_TIME: Duration = Duration::from_secs(10);
/// The most tasks in a drawing, and how many are usual.
const NODES: (usize, usize) = (300, 2_000);

/// The server, as requests see it.
pub(crate) struct App {
    access: Access,
    names: Names,
    port: u16,
    ports: Arc<dyn Ports>,
    boards: Boards,
    live: Arc<Live>,
    plans: Plans,
}

/// Whether a connection has shown a token.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known(pub(crate) Arc<AtomicBool>);

type Shared = State<Arc<App>>;

impl App {
    pub(crate) fn new(ports: Arc<dyn Ports>, access: Access, (names, port): (Names, u16)) -> Self {
        let live = Live::new(ports.clone());
        let plans = Plans::new(ports.clone(), live.clone());
        let boards = Boards::new(ports.clone());
        Self { access, names, port, ports, boards, live, plans }
    }
}

pub(crate) fn router(app: App) -> Router {
    let app = Arc::new(app);
    let mut router = Router::new();
    for file in page::FILES {
        let serve = move || async move { answer::with(StatusCode::OK, file.mime, file.bytes) };
        router = router.route(file.path, get(serve));
    }
    router
        .route("/api/session", get(session))
        .route("/api/status", get(status))
        .route("/api/live", get(live))
        .route("/api/tasks", get(tasks))
        .route("/api/tasks/{id}", get(task))
        .route("/api/tasks/{id}/diff", get(diff))
        .route("/api/graph", get(graph))
        .route("/api/runs", get(runs))
        .route("/api/runs/{id}", get(run))
        .route("/api/report", get(report))
        .route("/api/action", post(action))
        .fallback(|| async { answer::error(StatusCode::NOT_FOUND, "there is no such page") })
        .method_not_allowed_fallback(|| async {
            answer::error(StatusCode::METHOD_NOT_ALLOWED, "this path takes another method")
        })
        .layer(from_fn_with_state(app.clone(), guard))
        .with_state(app)
}

async fn guard(State(app): Shared, request: Request, next: Next) -> Answer {
    let mut answer = match admit(&app, &request) {
        Ok(role) => {
            if let Some(Known(known)) = request.extensions().get::<Known>() {
                known.store(true, Ordering::Relaxed);
            }
            let mut request = request;
            request.extensions_mut().insert(role);
            next.run(request).await
        }
        Err(answer) => *answer,
    };
    answer::protect(answer.headers_mut());
    answer
}

/// What the request may do; else the answer that it gets.
fn admit(app: &App, request: &Request) -> Result<Role, Box<Answer>> {
    let (headers, path) = (request.headers(), request.uri().path());
    let refuse = |status, message| Err(Box::new(answer::error(status, message)));
    let Some(origin) = app.names.origin(headers) else {
        return refuse(
            StatusCode::FORBIDDEN,
            "this server has another name: use the link that ralph printed",
        );
    };
    let changes = match *request.method() {
        Method::GET | Method::HEAD => false,
        Method::POST => true,
        _ => {
            let mut answer = answer::error(StatusCode::METHOD_NOT_ALLOWED, "use GET, HEAD or POST");
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
            return Err(Box::new(answer));
        }
    };
    if path == "/"
        && !changes
        && let Some(token) = link_token(request.uri().query())
    {
        return Err(Box::new(enter(app, token)));
    }
    if path != "/" && access::is_foreign(headers) {
        return refuse(StatusCode::FORBIDDEN, "the request comes from another page");
    }
    let given = access::token(headers, app.port);
    let role = given.and_then(|(token, is_bearer)| Some((app.access.role(token)?, is_bearer)));
    let Some((role, is_bearer)) = role else {
        return match path {
            "/" => Err(Box::new(answer::no_token())),
            _ => refuse(
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong: use the link that ralph printed",
            ),
        };
    };
    if changes && let Some(why) = access::refuses_change(headers, (role, is_bearer), &origin) {
        let status = if why.contains("Content-Type") {
            StatusCode::BAD_REQUEST
        } else {
            StatusCode::FORBIDDEN
        };
        return refuse(status, why);
    }
    Ok(role)
}

fn link_token(query: Option<&str>) -> Option<&str> {
    query?.split('&').find_map(|pair| pair.strip_prefix("token="))
}

/// The answer to the printed link: it moves the token from the address into a cookie.
fn enter(app: &App, token: &str) -> Answer {
    if app.access.role(token).is_none() {
        return answer::no_token();
    }
    let name = access::cookie_name(app.port);
    let cookie = format!("{name}={token}; HttpOnly; SameSite=Strict; Path=/");
    let mut answer =
        answer::with(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", Body::empty());
    let headers = answer.headers_mut();
    headers.insert(LOCATION, HeaderValue::from_static("/"));
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        headers.insert(SET_COOKIE, cookie);
    }
    answer
}

#[derive(Serialize)]
struct SessionJson {
    repository: String,
    name: String,
    read_only: bool,
    version: &'static str,
    frozen: bool,
}

async fn session(State(app): Shared, request: Request) -> Answer {
    let repository = app.ports.root();
    let name = repository.rsplit('/').next().unwrap_or_default().to_owned();
    let read_only = request.extensions().get::<Role>() != Some(&Role::Full);
    let version = env!("CARGO_PKG_VERSION");
    answer::json(answer::bytes(&SessionJson {
        repository,
        name,
        read_only,
        version,
        frozen: false,
    }))
}

async fn status(State(app): Shared) -> Answer {
    app.boards.page(Page::Status).await
}

async fn runs(State(app): Shared) -> Answer {
    app.boards.page(Page::Runs).await
}

async fn report(State(app): Shared) -> Answer {
    app.boards.page(Page::Report).await
}

async fn live(State(app): Shared, method: Method) -> Answer {
    let body = match method {
        Method::HEAD => Body::empty(),
        _ => Body::new(viewer(&app.live)),
    };
    answer::with(StatusCode::OK, "text/event-stream", body)
}

type Fields = Given<HashMap<String, String>>;

async fn tasks(State(app): Shared, Given(given): Fields) -> Answer {
    let query = match Query::read(&given) {
        Ok(query) => query,
        Err(why) => return answer::error(StatusCode::BAD_REQUEST, &why),
    };
    shown(match app.plans.current().await {
        Ok(plan) => app.boards.ask(move |_| Ok(plan.list(&query))).await,
        Err(refused) => Err(refused),
    })
}

async fn graph(State(app): Shared, Given(given): Fields) -> Answer {
    let around = given.get("around").filter(|id| !id.is_empty());
    let around = around.map(TaskId::new).transpose().map_err(|error| error.to_string());
    let limit = crate::plan::number(&given, "limit", NODES);
    let (around, limit) = match (around, limit) {
        (Ok(around), Ok(limit)) => (around, limit.max(1)),
        (Err(why), _) | (_, Err(why)) => return answer::error(StatusCode::BAD_REQUEST, &why),
    };
    shown(match app.plans.current().await {
        Ok(plan) => app.boards.ask(move |_| Ok(plan.graph(around, limit))).await,
        Err(refused) => Err(refused),
    })
}

fn shown(asked: Result<axum::body::Bytes, Refused>) -> Answer {
    asked.map_or_else(|refused| board::failed(&refused), answer::json)
}

fn missing(what: &str) -> Refused {
    Refused { missing: true, ..because(&format!("there is no {what}")) }
}

async fn task(State(app): Shared, Path(id): Path<String>) -> Answer {
    let Ok(id) = TaskId::new(&id) else { return board::failed(&missing("such task")) };
    shown(app.boards.ask(move |ports| Ok(answer::bytes(&ports.board().task(&id)?))).await)
}

async fn diff(State(app): Shared, Path(id): Path<String>) -> Answer {
    #[derive(Serialize)]
    struct Diff {
        diff: String,
    }
    let Ok(id) = TaskId::new(&id) else { return board::failed(&missing("such task")) };
    let asked = move |ports: &dyn Ports| ports.board().diff(&id);
    shown(app.boards.ask(move |ports| Ok(answer::bytes(&Diff { diff: asked(ports)? }))).await)
}

async fn run(State(app): Shared, Path(id): Path<String>) -> Answer {
    let Ok(id) = RunId::new(&id) else { return board::failed(&missing("such run")) };
    shown(app.boards.ask(move |ports| board::run(ports, &id)).await)
}

async fn action(State(app): Shared, request: Request) -> Answer {
    let read = tokio::time::timeout(BODY_TIME, to_bytes(request.into_body(), BODY)).await;
    let bytes = match read {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            return answer::error(StatusCode::PAYLOAD_TOO_LARGE, "the request is too long");
        }
        Err(_) => return answer::error(StatusCode::REQUEST_TIMEOUT, "the request took too long"),
    };
    let action: UserAction = match serde_json::from_slice(&bytes) {
        Ok(action) => action,
        Err(error) => {
            let why = format!("this is not an action: {error}");
            return answer::error(StatusCode::BAD_REQUEST, &why);
        }
    };
    let answer = app.boards.perform(action).await;
    app.plans.wake();
    answer
}
