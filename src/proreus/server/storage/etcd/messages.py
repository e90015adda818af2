"""etcd's wire messages. Only what this client uses is listed."""

from __future__ import annotations

from proreus.server.storage.protobuf_tables import message_classes

_TABLE = {
    "KeyValue": "key:1:bytes create_revision:2:int64 mod_revision:3:int64 version:4:int64 "
    "value:5:bytes lease:6:int64",
    "Event": "type:1:int32 kv:2:KeyValue prev_kv:3:KeyValue",
    "ResponseHeader": "cluster_id:1:uint64 member_id:2:uint64 revision:3:int64 raft_term:4:uint64",
    "RangeRequest": "key:1:bytes range_end:2:bytes limit:3:int64 revision:4:int64 "
    "serializable:7:bool keys_only:8:bool count_only:9:bool",
    "RangeResponse": "header:1:ResponseHeader kvs:2:KeyValue* more:3:bool count:4:int64",
    "RangeStreamResponse": "range_response:1:RangeResponse",
    "PutRequest": "key:1:bytes value:2:bytes lease:3:int64",
    "PutResponse": "header:1:ResponseHeader",
    "DeleteRangeRequest": "key:1:bytes range_end:2:bytes",
    "DeleteRangeResponse": "header:1:ResponseHeader deleted:2:int64",
    "RequestOp": "request_range:1:RangeRequest request_put:2:PutRequest "
    "request_delete_range:3:DeleteRangeRequest",
    "ResponseOp": "response_range:1:RangeResponse response_put:2:PutResponse "
    "response_delete_range:3:DeleteRangeResponse",
    "Compare": "result:1:int32 target:2:int32 key:3:bytes version:4:int64 mod_revision:6:int64",
    "TxnRequest": "compare:1:Compare* success:2:RequestOp* failure:3:RequestOp*",
    "TxnResponse": "header:1:ResponseHeader succeeded:2:bool responses:3:ResponseOp*",
    "CompactionRequest": "revision:1:int64 physical:2:bool",
    "CompactionResponse": "header:1:ResponseHeader",
    "WatchCreateRequest": "key:1:bytes range_end:2:bytes start_revision:3:int64 "
    "progress_notify:4:bool prev_kv:6:bool watch_id:7:int64 fragment:8:bool",
    "WatchProgressRequest": "",
    "WatchRequest": "create_request:1:WatchCreateRequest progress_request:3:WatchProgressRequest",
    "WatchResponse": "header:1:ResponseHeader watch_id:2:int64 created:3:bool canceled:4:bool "
    "compact_revision:5:int64 cancel_reason:6:string fragment:7:bool events:11:Event*",
    "LeaseGrantRequest": "TTL:1:int64 ID:2:int64",
    "LeaseGrantResponse": "header:1:ResponseHeader ID:2:int64 TTL:3:int64 error:4:string",
    "LeaseTimeToLiveRequest": "ID:1:int64 keys:2:bool",
    "LeaseTimeToLiveResponse": "header:1:ResponseHeader ID:2:int64 TTL:3:int64 grantedTTL:4:int64",
    "StatusRequest": "",
    "StatusResponse": "header:1:ResponseHeader version:2:string leader:4:uint64 errors:8:string*",
    "AuthenticateRequest": "name:1:string password:2:string",
    "AuthenticateResponse": "header:1:ResponseHeader token:2:string",
}

_of = message_classes("etcdserverpb", _TABLE)

RangeRequest, RangeResponse = _of("RangeRequest"), _of("RangeResponse")
RangeStreamResponse = _of("RangeStreamResponse")
TxnRequest, TxnResponse = _of("TxnRequest"), _of("TxnResponse")
PutRequest, PutResponse = _of("PutRequest"), _of("PutResponse")
CompactionRequest, CompactionResponse = _of("CompactionRequest"), _of("CompactionResponse")
WatchRequest, WatchResponse = _of("WatchRequest"), _of("WatchResponse")
LeaseGrantRequest, LeaseGrantResponse = _of("LeaseGrantRequest"), _of("LeaseGrantResponse")
LeaseTimeToLiveRequest = _of("LeaseTimeToLiveRequest")
LeaseTimeToLiveResponse = _of("LeaseTimeToLiveResponse")
StatusRequest, StatusResponse = _of("StatusRequest"), _of("StatusResponse")
AuthenticateRequest = _of("AuthenticateRequest")
AuthenticateResponse = _of("AuthenticateResponse")

# Values of enums.
COMPARE_VERSION = 0
COMPARE_MOD = 2
EVENT_DELETE = 1
