// Protobuf messages as plain objects, by the descriptors in protos/released/okey.binpb: nothing is generated.
// A page with a build step would rather use generated code; the bytes are the same.

const KIND = { DOUBLE: 1, FLOAT: 2, INT64: 3, UINT64: 4, INT32: 5, BOOL: 8, STRING: 9, MESSAGE: 11, BYTES: 12, UINT32: 13, ENUM: 14 };
const REPEATED = 3;
const WIRE = { VARINT: 0, FIXED64: 1, BYTES: 2, FIXED32: 5 };

// What a FileDescriptorSet is itself, as far as it is read here: name, number, kind, type, label.
const DESCRIPTORS = {
  FileDescriptorSet: [["file", 1, KIND.MESSAGE, "FileDescriptorProto", REPEATED]],
  FileDescriptorProto: [
    ["package", 2, KIND.STRING],
    ["message_type", 4, KIND.MESSAGE, "DescriptorProto", REPEATED],
    ["enum_type", 5, KIND.MESSAGE, "EnumDescriptorProto", REPEATED],
  ],
  DescriptorProto: [
    ["name", 1, KIND.STRING],
    ["field", 2, KIND.MESSAGE, "FieldDescriptorProto", REPEATED],
    ["nested_type", 3, KIND.MESSAGE, "DescriptorProto", REPEATED],
    ["enum_type", 4, KIND.MESSAGE, "EnumDescriptorProto", REPEATED],
  ],
  FieldDescriptorProto: [
    ["name", 1, KIND.STRING],
    ["number", 3, KIND.INT32],
    ["label", 4, KIND.INT32],
    ["type", 5, KIND.INT32],
    ["type_name", 6, KIND.STRING],
  ],
  EnumDescriptorProto: [
    ["name", 1, KIND.STRING],
    ["value", 2, KIND.MESSAGE, "EnumValueDescriptorProto", REPEATED],
  ],
  EnumValueDescriptorProto: [["name", 1, KIND.STRING], ["number", 2, KIND.INT32]],
};

export class Schema {
  // `messages`: full name -> fields; `enums`: full name -> [name, number] of each value.
  constructor(messages, enums = new Map()) {
    this.messages = messages;
    this.enums = enums;
  }

  static read(image) {
    const own = Object.entries(DESCRIPTORS).map(([name, rows]) => [
      name,
      rows.map(([field, number, type, type_name = "", label = 1]) => ({ name: field, number, type, type_name, label })),
    ]);
    const set = new Schema(new Map(own)).decode("FileDescriptorSet", image);
    const found = new Schema(new Map(), new Map());
    for (const file of set.file ?? []) found.#add(file.package, file.message_type, file.enum_type);
    return found;
  }

  #add(scope, messages = [], enums = []) {
    for (const each of enums) {
      this.enums.set(`${scope}.${each.name}`, each.value.map((value) => [value.name, value.number ?? 0]));
    }
    for (const each of messages) {
      const fields = (each.field ?? []).map((f) => ({ ...f, type_name: (f.type_name ?? "").replace(/^\./, "") }));
      this.messages.set(`${scope}.${each.name}`, fields);
      this.#add(`${scope}.${each.name}`, each.nested_type, each.enum_type);
    }
  }

  encode(type, object) {
    const out = [];
    for (const [name, value] of Object.entries(object)) {
      const field = this.#fields(type).find((each) => each.name === name);
      if (field === undefined) throw new Error(`${type} has no field ${name}`);
      for (const each of field.label === REPEATED ? value : [value]) this.#put(out, field, each);
    }
    return Uint8Array.from(out);
  }

  #put(out, field, value) {
    const lengthy = {
      [KIND.STRING]: () => new TextEncoder().encode(value),
      [KIND.BYTES]: () => value,
      [KIND.MESSAGE]: () => this.encode(field.type_name, value),
    }[field.type];
    if (lengthy !== undefined) {
      const bytes = lengthy();
      putVarint(out, (field.number << 3) | WIRE.BYTES);
      putVarint(out, bytes.length);
      out.push(...bytes);
      return;
    }
    if ([KIND.DOUBLE, KIND.FLOAT].includes(field.type)) throw new Error(`${field.name}: no request has such a field`);
    putVarint(out, field.number << 3);
    putVarint(out, field.type === KIND.ENUM ? this.#enumNumber(field.type_name, value) : Number(value));
  }

  // Fields that have their default are left out, unknown ones are passed over. 64-bit integers are numbers.
  decode(type, bytes) {
    const found = {};
    const reader = { bytes, at: 0 };
    while (reader.at < bytes.length) {
      const key = Number(varint(reader));
      const field = this.#fields(type).find((each) => each.number === key >> 3);
      const raw = payload(reader, key & 7);
      if (field === undefined) continue;
      const values = this.#values(field, raw, key & 7);
      if (field.label === REPEATED) (found[field.name] ??= []).push(...values);
      else found[field.name] = values[0];
    }
    return found;
  }

  #values(field, raw, wire) {
    if (field.type === KIND.STRING) return [new TextDecoder().decode(raw)];
    if (field.type === KIND.BYTES) return [raw];
    if (field.type === KIND.MESSAGE) return [this.decode(field.type_name, raw)];
    if (wire !== WIRE.BYTES) return [this.#number(field, raw)];
    // Numbers of a repeated field stand in a row.
    const values = [];
    for (const reader = { bytes: raw, at: 0 }; reader.at < raw.length; ) values.push(this.#number(field, varint(reader)));
    return values;
  }

  #number(field, raw) {
    if (field.type === KIND.BOOL) return raw !== 0n;
    const number = Number(BigInt.asIntN(64, raw));
    if (field.type !== KIND.ENUM) return number;
    return this.enums.get(field.type_name).find(([, each]) => each === number)?.[0] ?? number;
  }

  #enumNumber(type, name) {
    const found = this.enums.get(type).find(([each]) => each === name);
    if (found === undefined) throw new Error(`${type} has no value ${name}`);
    return found[1];
  }

  #fields(type) {
    const found = this.messages.get(type);
    if (found === undefined) throw new Error(`there is no message ${type}`);
    return found;
  }
}

function putVarint(out, value) {
  let left = BigInt.asUintN(64, BigInt(value));
  for (; left > 127n; left >>= 7n) out.push(Number(left & 127n) | 128);
  out.push(Number(left));
}

function varint(reader) {
  let value = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = reader.bytes[reader.at++];
    if (byte === undefined) throw new Error("the message is cut off");
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return value;
  }
}

function payload(reader, wire) {
  if (wire === WIRE.VARINT) return varint(reader);
  const size = { [WIRE.FIXED64]: () => 8, [WIRE.FIXED32]: () => 4, [WIRE.BYTES]: () => Number(varint(reader)) }[wire]();
  reader.at += size;
  return reader.bytes.subarray(reader.at - size, reader.at);
}
