# SPDX-License-Identifier: Apache-2.0
"""A trace as JSON, decoded by Google's own classes of the messages; run with the Python of tools/perfetto.txt. An unknown field, or a
packet that is none, is an error."""
import json
import sys

from google.protobuf import unknown_fields
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages

TYPES = {1: "begin", 2: "end", 3: "instant", 4: "counter"}


def check(message):
    assert len(unknown_fields.UnknownFieldSet(message)) == 0, message
    for field, value in message.ListFields():
        if field.message_type:
            for each in value if hasattr(value, "append") or hasattr(value, "add") else [value]:
                check(each)


trace = messages.Trace()
data = open(sys.argv[1], "rb").read()
trace.ParseFromString(data)
check(trace)
tracks, events, names, clocks = {}, [], {}, []
for packet in trace.packet:
    sequence = packet.trusted_packet_sequence_id
    assert sequence != 0
    if packet.sequence_flags & 1:
        names = {key: name for key, name in names.items() if key[0] != sequence}
    for kind, interned in (("event", packet.interned_data.event_names), ("annotation", packet.interned_data.debug_annotation_names)):
        for each in interned:
            assert names.setdefault((sequence, kind, each.iid), each.name) == each.name
    if packet.HasField("clock_snapshot"):
        clocks.append({clock.clock_id: clock.timestamp for clock in packet.clock_snapshot.clocks})
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        tracks[track.uuid] = {"name": track.name, "parent": track.parent_uuid, "unit": track.counter.unit, "about": track.description}
    if not packet.HasField("track_event"):
        continue
    event = packet.track_event
    facts = {names[sequence, "annotation", each.name_iid]: each.int_value for each in event.debug_annotations}
    name = names[sequence, "event", event.name_iid] if event.name_iid else event.name
    events.append({"at": packet.timestamp, "track": event.track_uuid, "type": TYPES[event.type], "name": name, "value": event.counter_value,
                   "arrows": list(event.flow_ids), **facts})
json.dump({"tracks": {str(uuid): track for uuid, track in tracks.items()}, "events": events, "packets": len(trace.packet), "clocks": clocks,
           "bytes": len(data)}, sys.stdout)
