//! Health endpoints and metrics.

use crate::Check;

const AREA: &str = "health";

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "the server is ready", |cx| {
        cx.get("/readyz")
            .expect(200)?
            .has_header("content-type", "text/plain; charset=utf-8")?
            .satisfies("ok", |answer| answer.body_text() == "ok")?
            .done()
    }),
    Check::new(AREA, "the server is alive", |cx| {
        cx.get("/livez")
            .expect(200)?
            .satisfies("ok", |answer| answer.body_text() == "ok")?
            .done()
    }),
    Check::new(AREA, "the old health path still answers", |cx| {
        cx.get("/healthz")
            .expect(200)?
            .satisfies("ok", |answer| answer.body_text() == "ok")?
            .done()
    }),
    Check::new(AREA, "a verbose answer lists each check", |cx| {
        cx.get("/readyz?verbose")
            .expect(200)?
            .satisfies("[+]ping ok ... readyz check passed", |answer| {
                let text = answer.body_text();
                text.starts_with("[+]ping ok\n") && text.ends_with("readyz check passed\n")
            })?
            .done()
    }),
    Check::new(AREA, "one check can be asked alone", |cx| {
        cx.get("/livez/ping")
            .expect(200)?
            .satisfies("ok", |answer| answer.body_text() == "ok")?
            .done()
    }),
    Check::new(AREA, "some paths do not care for the method", |cx| {
        for path in ["/readyz", "/livez/ping", "/apis", "/apis/apps", "/openapi/v3"] {
            cx.request("POST", path).expect(200)?;
        }
        for path in ["/version", "/api", "/api/v1", "/apis/apps/v1"] {
            cx.request("POST", path).expect(405)?;
            cx.request("HEAD", path).expect(405)?;
        }
        Ok(())
    }),
    Check::new(AREA, "some paths do not mind a slash at their end", |cx| {
        for path in ["/version/", "/api/", "/apis/", "/apis/apps/", "/apis/apps/v1/"] {
            cx.get(path).expect(200)?;
        }
        for path in ["/readyz/", "/metrics/", "/openapi/v2/"] {
            cx.get(path).expect(404)?;
        }
        Ok(())
    }),
    Check::new(AREA, "health needs no credentials", |cx| {
        cx.get("/readyz").anonymous().expect(200)?;
        cx.get("/livez").anonymous().expect(200)?;
        cx.get("/version").anonymous().expect(200)?.done()
    }),
    Check::new(AREA, "metrics are plain text with help and types", |cx| {
        cx.get("/metrics")
            .expect(200)?
            .has_header("content-type", "text/plain; version=0.0.4{*}")?
            .satisfies("# HELP and # TYPE lines", |answer| {
                let text = answer.body_text();
                text.contains("# HELP ") && text.contains("# TYPE apiserver_request_total counter")
            })?
            .done()
    }),
];
