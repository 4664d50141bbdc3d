//! The task service: HTTP for people who need not know Kubernetes. It keeps nothing that is not in the
//! Kubernetes API but what can be read there again, so that several of it may run side by side
//! (decision 13).

mod answer;
mod app;
mod audit;
mod checking;
mod cursor;
mod deployment;
mod etag;
mod handlers;
mod housekeeping;
mod identity;
mod index;
mod logs;
mod objects;
mod openapi;
mod problem;
mod rate;
mod rendering;
mod roles;
mod routes;
mod rows;
mod schemas;
mod server;
mod sse;
mod streams;
mod tokens;

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{Client, core::ApiResource};
use resources::tasks::{CALLBACK_DELIVERY, TASK, TASK_DEFINITION, TASK_TEMPLATE};
use tokio::{
    net::TcpListener,
    sync::watch,
    task::{JoinHandle, JoinSet},
};

use crate::{
    app::{App, Parts},
    audit::Audit,
    index::Index,
    objects::{Folder, Objects, Refusal, api_resource},
    rendering::Renderer,
    roles::{EVERYWHERE, Grant, Role},
    tokens::Token,
};

pub use deployment::{Deployment, manifests};
pub use rate::Rate;

/// Where the service keeps tokens and the audit log, unless somebody says otherwise.
pub const SYSTEM_NAMESPACE: &str = "trainyard-system";

#[derive(Clone, Debug)]
pub struct Options {
    pub listen: SocketAddr,
    /// Another address to try where this one is taken.
    pub otherwise: Option<SocketAddr>,
    pub system_namespace: String,
    /// This program, which renders templates in processes of its own.
    pub program: PathBuf,
    /// How often somebody may read, and how often change something.
    pub reads: Rate,
    pub writes: Rate,
    /// Records of changes are kept so long.
    pub audit_days: u32,
    /// The folder of logs that outlive their pods, where this machine has it.
    pub logs: Option<PathBuf>,
    /// Whether somebody brings the templates that come with the program, so that lists without them are not
    /// complete. On a cluster of others nobody need.
    pub awaits_templates: bool,
}

impl Options {
    pub fn new(listen: SocketAddr, program: PathBuf) -> Self {
        Self {
            listen,
            otherwise: None,
            system_namespace: SYSTEM_NAMESPACE.to_owned(),
            program,
            reads: Rate::per_second(1000),
            writes: Rate::per_second(500),
            audit_days: 90,
            logs: None,
            awaits_templates: false,
        }
    }
}

/// The address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("the task service cannot listen on {address}")]
pub struct StartError {
    pub address: SocketAddr,
    pub source: std::io::Error,
}

/// A service that answers.
pub struct Service {
    address: SocketAddr,
    app: Arc<App>,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
    _tasks: JoinSet<()>,
}

/// Starts the service against the cluster of a client. What it shows is complete once it knows the cluster.
pub async fn start(client: Client, options: Options) -> Result<Service, StartError> {
    let listener = match (TcpListener::bind(options.listen).await, options.otherwise) {
        (Err(_), Some(otherwise)) => TcpListener::bind(otherwise).await,
        (bound, _) => bound,
    };
    let unbound = |source| StartError {
        address: options.listen,
        source,
    };
    let listener = listener.map_err(unbound)?;
    let address = listener.local_addr().map_err(unbound)?;
    let objects = Objects::new(client.clone());
    let mut tasks = JoinSet::new();
    tasks.spawn(housekeeping::keep(
        objects.clone(),
        options.system_namespace.clone(),
    ));
    let templates = Index::start(client.clone(), &api_resource(&TASK_TEMPLATE), None, &mut tasks);
    let app = App::new(Parts {
        audit: Audit::start(
            objects.clone(),
            &options.system_namespace,
            options.audit_days,
            &mut tasks,
        ),
        definitions: Index::start(client.clone(), &api_resource(&TASK_DEFINITION), None, &mut tasks),
        tasks: Index::start(client.clone(), &api_resource(&TASK), None, &mut tasks),
        tokens: Index::start(
            client.clone(),
            &ApiResource::erase::<Secret>(&()),
            Some(&options.system_namespace),
            &mut tasks,
        ),
        deliveries: Index::start(client, &api_resource(&CALLBACK_DELIVERY), None, &mut tasks),
        renderer: Renderer::new(options.program, templates.clone()),
        templates,
        objects,
        system_namespace: options.system_namespace,
        logs: options.logs,
        reads: options.reads,
        writes: options.writes,
    });
    let (stop, stopped) = watch::channel(false);
    let app = Arc::new(app);
    let complete = app.clone();
    let awaited = if options.awaits_templates {
        ::templates::built_in()
    } else {
        &[]
    };
    tasks.spawn(async move { complete.await_templates(awaited).await });
    let serving = tokio::spawn(server::serve(app.clone(), listener, stopped));
    Ok(Service {
        address,
        app,
        stop,
        serving,
        _tasks: tasks,
    })
}

impl Service {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Resolves when the service knows the cluster, and the cluster what comes with the program; until then it asks
    /// to be asked later.
    pub async fn known(&self) {
        self.app.synced().await;
        self.app.has_templates().await;
    }

    /// Takes no more requests, and lets those that are open finish.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        let _ = self.serving.await;
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("the cluster does not let the token of the task service be stored: {0}")]
    Refused(String),
    #[error("there is no randomness to make a token of")]
    NoRandomness,
}

/// A token that may do everything: the known one if it still holds, else a new one.
pub async fn admin_token(client: Client, namespace: &str, known: Option<&str>) -> Result<String, TokenError> {
    let objects = Objects::new(client);
    let refused = |refusal: Refusal| TokenError::Refused(format!("{refusal}"));
    housekeeping::ensure_namespace(&objects, namespace)
        .await
        .map_err(refused)?;
    let folder = Folder::core(namespace, "secrets");
    if let Some(text) = known
        && let Some(id) = tokens::id_of(text)
        && let Some(secret) = objects
            .find(&folder, &tokens::secret_name(id))
            .await
            .map_err(refused)?
        && let Some((token, hash)) = tokens::from_secret(&secret)
        && tokens::is_right(text, &hash)
        && !token.is_expired(Timestamp::now())
    {
        return Ok(text.to_owned());
    }
    let (id, text) = tokens::mint().map_err(|_| TokenError::NoRandomness)?;
    let token = Token {
        id,
        name: "admin".to_owned(),
        description: "the first token, of whoever started the service".to_owned(),
        grants: vec![Grant {
            role: Role::Admin,
            namespace: EVERYWHERE.to_owned(),
        }],
        created_by: "trainyard".to_owned(),
        created_at: Timestamp::now(),
        expires_at: None,
    };
    let secret = tokens::to_secret(&token, &text, namespace);
    let change = handlers::token_change(&token);
    audit::create_own(&objects, namespace, (&folder, secret), ("createToken", &change))
        .await
        .map_err(refused)?;
    Ok(text)
}

/// Bytes as text.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Text that nobody else has.
fn random_hex<const N: usize>() -> String {
    use ring::rand::SecureRandom as _;
    let mut bytes = [0; N];
    // Names are told apart by the API as well, which refuses the second of two that are the same.
    let _ = ring::rand::SystemRandom::new().fill(&mut bytes);
    hex(&bytes)
}
