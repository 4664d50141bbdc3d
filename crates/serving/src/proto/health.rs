//! `grpc.health.v1`.

#[derive(Clone, PartialEq, prost::Message)]
pub struct HealthCheckRequest {
    #[prost(string, tag = "1")]
    pub service: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct HealthCheckResponse {
    #[prost(int32, tag = "1")]
    pub status: i32,
}

pub const SERVING: i32 = 1;
pub const NOT_SERVING: i32 = 2;
/// Of a watch: the service may be there later.
pub const SERVICE_UNKNOWN: i32 = 3;
