//! `/etc/hosts` and `/etc/resolv.conf` of a pod.

use std::net::{IpAddr, Ipv4Addr};

use k8s_openapi::api::core::v1::Pod;

use super::names::{fully_qualified, hostname};
use crate::lifecycle::roles;

pub(crate) const DOMAIN: &str = "cluster.local";

/// The node's own files, for pods that see the node's network.
#[derive(Clone, Debug)]
pub(crate) struct HostFiles {
    pub(crate) hosts: String,
    pub(crate) resolver: String,
    /// Where the API server is reached from there, which has no way to the address of its service.
    pub(crate) api_server: IpAddr,
}

/// What `/etc/hosts` says.
pub(crate) fn hosts(pod: &Pod, address: Option<IpAddr>, host: Option<&HostFiles>) -> String {
    let mut text = match host {
        Some(host) => host_hosts(host),
        None => own_hosts(pod, address),
    };
    let aliases = roles::spec(pod).host_aliases.iter().flatten();
    let lines: Vec<String> = aliases
        .map(|alias| {
            format!(
                "{}\t{}\n",
                alias.ip,
                alias.hostnames.as_deref().unwrap_or_default().join("\t")
            )
        })
        .collect();
    if !lines.is_empty() {
        text.push_str("\n# Entries added by HostAliases.\n");
        text.extend(lines);
    }
    text
}

fn host_hosts(host: &HostFiles) -> String {
    format!(
        "# Kubernetes-managed hosts file (host network).\n{}\n\
         # The API server of the cluster.\n\
         {}\tkubernetes.default.svc.{DOMAIN}\tkubernetes.default.svc\tkubernetes.default\n",
        host.hosts, host.api_server
    )
}

fn own_hosts(pod: &Pod, address: Option<IpAddr>) -> String {
    let mut text = "# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
"
    .to_owned();
    if let Some(address) = address {
        let whole = fully_qualified(pod, DOMAIN).map(|name| format!("{name}\t"));
        text.push_str(&format!(
            "{address}\t{}{}\n",
            whole.unwrap_or_default(),
            hostname(pod)
        ));
    }
    text
}

/// What `/etc/resolv.conf` says. `server` is the cluster's name server, if the pod reaches one.
pub(crate) fn resolver(pod: &Pod, server: Option<Ipv4Addr>, host: &HostFiles) -> String {
    let spec = roles::spec(pod);
    let on_host = spec.host_network == Some(true);
    let from_host = Resolver::parse(&host.resolver);
    let mut resolver = match (spec.dns_policy.as_deref(), server) {
        (Some("None"), _) => Resolver::default(),
        (Some("Default"), _) | (_, None) => from_host,
        // There is no way from there to the cluster's name server, whatever the pod asks for.
        (_, Some(_)) if on_host => from_host,
        (_, Some(server)) => in_cluster(pod, server, from_host),
    };
    if let Some(config) = &spec.dns_config {
        extend(
            &mut resolver.servers,
            config.nameservers.as_deref().unwrap_or_default(),
        );
        extend(
            &mut resolver.searches,
            config.searches.as_deref().unwrap_or_default(),
        );
        for option in config.options.iter().flatten() {
            let name = option.name.as_deref().unwrap_or_default();
            let value = option.value.as_deref();
            let text = value.map_or_else(|| name.to_owned(), |value| format!("{name}:{value}"));
            // A pod's own word replaces the cluster's.
            resolver
                .options
                .retain(|known| known.split(':').next() != Some(name));
            resolver.options.push(text);
        }
    }
    resolver.text()
}

fn in_cluster(pod: &Pod, server: Ipv4Addr, host: Resolver) -> Resolver {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let mut searches = vec![
        format!("{namespace}.svc.{DOMAIN}"),
        format!("svc.{DOMAIN}"),
        DOMAIN.to_owned(),
    ];
    extend(&mut searches, &host.searches);
    Resolver {
        servers: vec![server.to_string()],
        searches,
        options: vec!["ndots:5".to_owned()],
    }
}

fn extend(list: &mut Vec<String>, more: &[String]) {
    for item in more {
        if !list.contains(item) {
            list.push(item.clone());
        }
    }
}

#[derive(Debug, Default)]
struct Resolver {
    servers: Vec<String>,
    searches: Vec<String>,
    options: Vec<String>,
}

impl Resolver {
    fn parse(text: &str) -> Self {
        let mut resolver = Self::default();
        for line in text.lines() {
            let mut words = line.split_whitespace().map(str::to_owned);
            match words.next().as_deref() {
                Some("nameserver") => resolver.servers.extend(words.next()),
                Some("search") => resolver.searches = words.filter(|word| word != ".").collect(),
                Some("options") => resolver.options = words.collect(),
                _ => {}
            }
        }
        resolver
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if !self.searches.is_empty() {
            text.push_str(&format!("search {}\n", self.searches.join(" ")));
        }
        for server in &self.servers {
            text.push_str(&format!("nameserver {server}\n"));
        }
        if !self.options.is_empty() {
            text.push_str(&format!("options {}\n", self.options.join(" ")));
        }
        text
    }
}
