# What the processes of a cluster with a coordinator call of each other.
@0xc2f0a5d1e7b43986;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("etude::coordinator::schema");

struct Tensor {
  dtype @0 :UInt8;
  shape @1 :List(Int64);
  data @2 :Data;
}

struct Named {
  name @0 :Text;
  tensor @1 :Tensor;
}

struct Dataset {
  name @0 :Text;
  id @1 :Int64;
}

# Rows of a variable, from `begin` on. `rows` is those of the whole variable.
struct Part {
  name @0 :Text;
  begin @1 :Int64;
  rows @2 :Int64;
  trainable @3 :Bool = true;
}

# Why a call failed. `kind` is that of an Error. `server` is a parameter server that is unavailable, or -1.
struct Failure {
  kind @0 :UInt8;
  text @1 :Text;
  server @2 :Int32 = -1;
}

interface Task {
  ping @0 ();
  # Of workers.
  run @1 (function :Text, arguments :List(Tensor), datasets :List(Dataset)) -> (results :List(Tensor), failure :Failure);
  # Of parameter servers. Names are those of parts.
  create @2 (parts :List(Part), values :List(Tensor)) -> (failure :Failure);
  list @3 () -> (parts :List(Part));
  pull @4 (names :List(Text)) -> (values :List(Tensor), failure :Failure);
  push @5 (gradients :List(Named)) -> (failure :Failure);
  assign @6 (values :List(Named)) -> (failure :Failure);
  # Of the optimizer: "part/0" is the first slot of a part, "0" the first variable that exists once.
  slots @7 () -> (values :List(Named), failure :Failure);
  restoreSlots @8 (values :List(Named)) -> (failure :Failure);
  # Of all: the coordinator ends.
  shutdown @9 ();
}
