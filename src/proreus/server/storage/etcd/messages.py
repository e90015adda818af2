"""etcd's wire messages, from a table of names, numbers and types.

Built at import into a descriptor pool of their own: another etcd client in the same process brings
the same names, and the shared pool refuses them twice. Only what this client uses is listed; fields
that a newer etcd sends beyond these are skipped by protobuf.

Enums are written as numbers and one-of groups as plain fields: the bytes are the same.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "etcdserverpb"
_FIELD = descriptor_pb2.FieldDescriptorProto

# name:number:type, a star for repeated. Types: one of the letters below, or a message's name.
_SCALARS = {
    "bytes": _FIELD.TYPE_BYTES,
    "int64": _FIELD.TYPE_INT64,
    "uint64": _FIELD.TYPE_UINT64,
    "bool": _FIELD.TYPE_BOOL,
    "string": _FIELD.TYPE_STRING,
    "int32": _FIELD.TYPE_INT32,
}
_TABLE = {
    "KeyValue": "key:1:bytes create_revision:2:int64 mod_revision:3:int64 version:4:int64 "
    "value:5:bytes lease:6:int64",
    "Event": "type:1:int32 kv:2:KeyValue prev_kv:3:KeyValue",
    "ResponseHeader": "cluster_id:1:uint64 member_id:2:uint64 revision:3:int64 raft_term:4:uint64",
    "RangeRequest": "key:1:bytes range_end:2:bytes limit:3:int64 revision:4:int64 "
    "serializable:7:bool keys_only:8:bool count_only:9:bool",
    "RangeResponse": "header:1:ResponseHeader kvs:2:KeyValue* more:3:bool count:4:int64",
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
    "StatusRequest": "",
    "StatusResponse": "header:1:ResponseHeader version:2:string leader:4:uint64",
    "AuthenticateRequest": "name:1:string password:2:string",
    "AuthenticateResponse": "header:1:ResponseHeader token:2:string",
}


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(
        name="proreus/etcd.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, fields in _TABLE.items():
        message = file.message_type.add(name=name)
        for field in fields.split():
            field_name, number, kind = field.split(":")
            added = message.field.add(name=field_name, number=int(number))
            added.label = _FIELD.LABEL_REPEATED if kind[-1] == "*" else _FIELD.LABEL_OPTIONAL
            kind = kind.rstrip("*")
            if kind in _SCALARS:
                added.type = _SCALARS[kind]
            else:
                added.type = _FIELD.TYPE_MESSAGE
                added.type_name = f".{_PACKAGE}.{kind}"
    return file


_pool = descriptor_pool.DescriptorPool()
_pool.Add(_file())


def _of(name: str) -> Any:  # the classes are made at run time; only this folder uses them
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


RangeRequest, RangeResponse = _of("RangeRequest"), _of("RangeResponse")
TxnRequest, TxnResponse = _of("TxnRequest"), _of("TxnResponse")
PutRequest, PutResponse = _of("PutRequest"), _of("PutResponse")
CompactionRequest, CompactionResponse = _of("CompactionRequest"), _of("CompactionResponse")
WatchRequest, WatchResponse = _of("WatchRequest"), _of("WatchResponse")
LeaseGrantRequest, LeaseGrantResponse = _of("LeaseGrantRequest"), _of("LeaseGrantResponse")
StatusRequest, StatusResponse = _of("StatusRequest"), _of("StatusResponse")
AuthenticateRequest = _of("AuthenticateRequest")
AuthenticateResponse = _of("AuthenticateResponse")

# Values of enums.
COMPARE_EQUAL = 0
COMPARE_VERSION = 0
COMPARE_MOD = 2
EVENT_DELETE = 1
