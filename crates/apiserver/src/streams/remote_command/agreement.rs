//! Which of the ten ways to carry a command's streams client and server agree on.

use node_api::Streams;

use super::status;
use crate::{
    response::Answer,
    streams::{
        channels,
        multiplex::{Protocol, Purpose},
        spdy,
        upgrade::{self, Refusal, Wanted},
    },
};

const V5: &str = "v5.channel.k8s.io";
const V4: &str = "v4.channel.k8s.io";
const V4_BASE64: &str = "v4.base64.channel.k8s.io";
const OLD: &str = "channel.k8s.io";
const OLD_BASE64: &str = "base64.channel.k8s.io";
/// Version 5 differs from version 4 on WebSockets only.
const SPDY: &[&str] = &[V4, "v3.channel.k8s.io", "v2.channel.k8s.io", OLD];
const WEBSOCKET: &[&str] = &[OLD, OLD_BASE64, V4, V4_BASE64];
/// The channels of a WebSocket, by number.
const CHANNELS: [&str; 5] = ["stdin", "stdout", "stderr", "error", "resize"];

pub(super) struct Agreement {
    pub answer: Answer,
    pub protocol: Protocol,
    pub talk: Talk,
    /// A refusal is told over the stream like the end of a process.
    pub tells_refusals: bool,
}

/// How the streams are used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Talk {
    pub status: status::Form,
    /// The client hears an empty message when the streams are there.
    pub greets: bool,
    /// The client opens a stream for the size of its terminal.
    resizes: bool,
}

impl Agreement {
    pub(super) fn find(wanted: Wanted, tty: bool) -> Result<Self, Refusal> {
        match wanted {
            Wanted::Spdy { protocols } if protocols.is_empty() => Err(Refusal::no_protocol()),
            Wanted::Spdy { protocols } => {
                let version = upgrade::first_known(&protocols, SPDY)?;
                Ok(Self {
                    answer: upgrade::to_spdy(version),
                    protocol: spdy::protocol(),
                    talk: Talk {
                        status: form(version == V4),
                        greets: false,
                        resizes: tty && matches!(version, V4 | "v3.channel.k8s.io"),
                    },
                    tells_refusals: false,
                })
            }
            Wanted::WebSocket { key, protocols } => {
                let version = websocket_version(&protocols)?;
                let form_of_channels = channels::Form {
                    base64: matches!(version, OLD_BASE64 | V4_BASE64),
                    closes: version == V5,
                };
                let channels = CHANNELS.map(|kind| Purpose {
                    kind: kind.to_owned(),
                    ..Purpose::default()
                });
                Ok(Self {
                    answer: upgrade::to_websocket(&key, version),
                    protocol: channels::protocol(form_of_channels, channels.to_vec()),
                    talk: Talk {
                        status: form(matches!(version, V5 | V4 | V4_BASE64)),
                        greets: true,
                        resizes: tty,
                    },
                    tells_refusals: version == V5,
                })
            }
        }
    }
}

/// The newest version is preferred wherever the client names it; without any, the oldest is meant.
fn websocket_version(offered: &[String]) -> Result<&'static str, Refusal> {
    if offered.is_empty() {
        return Ok("");
    }
    if offered.iter().any(|offer| offer == V5) {
        return Ok(V5);
    }
    upgrade::first_known(offered, WEBSOCKET)
}

fn form(is_json: bool) -> status::Form {
    if is_json {
        status::Form::Json
    } else {
        status::Form::Text
    }
}

impl Talk {
    /// The streams a client opens for what it asked for.
    pub(super) fn expected(self, streams: Streams) -> Vec<&'static str> {
        let wanted = [
            (streams.stdin, "stdin"),
            (streams.stdout, "stdout"),
            (streams.stderr, "stderr"),
            (self.resizes, "resize"),
            (true, "error"),
        ];
        wanted
            .into_iter()
            .filter_map(|(is_wanted, kind)| is_wanted.then_some(kind))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn websocket(offered: &[&str]) -> Result<&'static str, StatusOf> {
        let offered: Vec<String> = offered.iter().map(|&offer| offer.to_owned()).collect();
        websocket_version(&offered).map_err(|refusal| StatusOf(refusal.into_answer().status().as_u16()))
    }

    #[derive(Debug, PartialEq, Eq)]
    struct StatusOf(u16);

    #[test]
    fn the_newest_version_wins_on_websockets() {
        assert_eq!(websocket(&[V4, V5]), Ok(V5));
        assert_eq!(websocket(&[V4_BASE64, V4]), Ok(V4_BASE64));
        assert_eq!(websocket(&[]), Ok(""));
        assert_eq!(websocket(&["v9.channel.k8s.io"]), Err(StatusOf(403)));
    }

    #[test]
    fn clients_of_spdy_get_version_four() {
        let offered = ["v5.channel.k8s.io", V4, "v3.channel.k8s.io"].map(str::to_owned);
        let agreement = Agreement::find(
            Wanted::Spdy {
                protocols: offered.to_vec(),
            },
            true,
        );
        let talk = agreement.ok().unwrap().talk;
        let all = Streams {
            stdin: true,
            stdout: true,
            stderr: false,
            tty: true,
        };
        assert_eq!(talk.expected(all), ["stdin", "stdout", "resize", "error"]);
    }
}
