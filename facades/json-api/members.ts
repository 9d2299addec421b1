import type { z } from 'zod'
import type { Issue } from '../../routers/core/problems.ts'
import type { Resource } from '../../routers/resource/declare.ts'
import type { WireNames } from '../http/names.ts'
import type { MemberCase, MemberProfile } from './member-profiles.ts'

export type AnyKeyMapper = KeyMapper | IdentityKeyMapper

/** Maps declared names to wire names and back. */
export class Members {
  readonly #profile: MemberProfile | undefined
  readonly #byResource = new WeakMap<Resource, AnyKeyMapper>()
  readonly #byInput = new WeakMap<object, AnyKeyMapper>()

  /** Without a profile, names stay as declared. */
  constructor(profile?: MemberProfile) {
    this.#profile = profile
  }

  /** Writes a name or a path of names; the type selects the names of its attributes. */
  write(text: string, type = ''): string {
    const { write, names: renamed } = this.#profile ?? {}
    return write ? text.replace(/\w+/g, (name) => renamed?.[type]?.[name] ?? write(name)) : text
  }

  /**
   * Finds the declared name of a wire name; returns undefined for a declared name that is written otherwise, and an
   * unknown name itself.
   */
  read(written: string, declared: readonly string[], type?: string): string | undefined {
    if (!this.#profile) return written
    const found = declared.find((name) => this.write(name, type) === written)
    return found ?? (declared.includes(written) ? undefined : written)
  }

  /** Resolves an alias of a filter value. */
  readFilter(type: string, name: string, value: string): string {
    return this.#profile?.filters?.[type]?.[name]?.[value] ?? value
  }

  /** Returns true if an on-demand attribute is sent without being selected. */
  isSentByDefault(type: string, name: string): boolean {
    return this.#profile?.sentByDefault?.[type]?.[name] === true
  }

  /** Returns the key mapper of a type's attributes and their nested members. */
  mapAttributes(of: Resource): AnyKeyMapper {
    return this.#remember(this.#byResource, of, ({ write, names: renamed, verbatim, transforms }) => {
      const members = Object.entries(of.attributes).map(([name, { schema }]): [string, unknown] => [name, schema])
      const { type } = of
      return new KeyMapper(write, members, {
        names: renamed?.[type],
        verbatim: verbatim?.[type],
        transforms: transforms?.[type],
      })
    })
  }

  /** Returns the to-one relations whose id is also an attribute, with its wire name. */
  mapLinked({ type }: Resource): Readonly<Record<string, string>> {
    return this.#profile?.linkedIds?.[type] ?? {}
  }

  /** Returns the key mapper of a procedure's input. */
  mapInput(schemas: readonly z.ZodType[]): AnyKeyMapper {
    return this.#remember(this.#byInput, schemas, ({ write, lenientActions }) => {
      const members = schemas.flatMap(membersIn)
      return new KeyMapper(write, members, { takesDeclared: lenientActions })
    })
  }

  /** Returns the member of `meta` that is the whole response of an action; undefined for a document. */
  plainAnswer(type: string, action: string | undefined): string | undefined {
    return this.#profile?.plainAnswers?.[`${type}/${action}`]
  }

  #remember<K extends object>(
    known: WeakMap<K, AnyKeyMapper>,
    key: K,
    make: (profile: MemberProfile) => AnyKeyMapper,
  ): AnyKeyMapper {
    const found = known.get(key)
    if (found) return found
    const names = this.#profile ? make(this.#profile) : new IdentityKeyMapper()
    known.set(key, names)
    return names
  }

  /** Converts a JSON Schema to wire names. */
  schema<S extends Schema>(schema: S, type = ''): S {
    if (!this.#profile) return schema
    const { verbatim, transforms } = this.#profile
    const isOverridden = (name: string) => verbatim?.[type]?.[name] || transforms?.[type]?.[name]
    const of = (name: string, part: unknown) => (isOverridden(name) ? part : this.#writeSchema(part))
    return this.#writeObject(schema, of, type) as S
  }

  #writeObject(schema: Schema, of: (name: string, part: unknown) => unknown, type = ''): Schema {
    const parts = Object.entries(schema).map(([keyword, part]): [string, unknown] => {
      if (keyword === 'required') return [keyword, (part as string[]).map((name) => this.write(name, type))]
      if (keyword !== 'properties') return [keyword, this.#writeSchema(part)]
      const members = Object.entries(part as object).map(([name, it]) => [this.write(name, type), of(name, it)])
      return [keyword, Object.fromEntries(members)]
    })
    return Object.fromEntries(parts)
  }

  #writeSchema(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((part) => this.#writeSchema(part))
    if (typeof schema !== 'object' || schema === null) return schema
    return this.#writeObject(schema as Schema, (_, part) => this.#writeSchema(part))
  }
}

type Schema = Record<string, unknown>

/** Members with names as declared. */
export const declaredMembers = new Members()

/** The data that is needed to write a document. */
export interface DocumentContext {
  resources: ReadonlyMap<string, Resource>
  members: Members
  names: WireNames
  /** Address of the service, and of its types, which prefix links. */
  origin: string
  baseUrl: string
}

interface Member {
  written: string
  /** Mapper of nested objects; undefined if there are none. */
  inner: KeyMapper | undefined
}

/** Exceptions for single members, by declared name. */
interface MemberOverrides {
  names?: Readonly<Record<string, string>> | undefined
  /** Members whose nested members keep their declared names. */
  verbatim?: Readonly<Record<string, true>> | undefined
  transforms?: Readonly<Record<string, (value: unknown) => unknown>> | undefined
  /** True if declared names are accepted, too. */
  takesDeclared?: boolean | undefined
}

/** Maps the members of one object and its nested objects. */
class KeyMapper {
  readonly #members = new Map<string, Member>()
  readonly #declared = new Map<string, string>()
  readonly #overrides: MemberOverrides

  constructor(write: MemberCase, members: Iterable<[string, unknown]>, own: MemberOverrides = {}) {
    this.#overrides = own
    for (const [name, all] of Map.groupBy(members, ([name]) => name)) {
      const below = own.verbatim?.[name] ? [] : all.flatMap(([, schema]) => membersIn(schema as z.ZodType))
      const written = own.names?.[name] ?? write(name)
      const { takesDeclared } = own
      const inner = below.length > 0 ? new KeyMapper(write, below, { takesDeclared }) : undefined
      this.#members.set(name, { written, inner })
      this.#declared.set(written, name)
    }
  }

  /** Writes a value with wire names; unknown members stay, such as those of a record. */
  write(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.write(item))
    if (!isObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => {
        const { written = name, inner } = this.#members.get(name) ?? {}
        return [written, inner ? inner.write(member) : member]
      }),
    )
  }

  /** Writes one attribute. */
  writeMember(name: string, value: unknown): [written: string, value: unknown] {
    const { written = name, inner } = this.#members.get(name) ?? {}
    const show = this.#overrides.transforms?.[name]
    if (show) return [written, show(value)]
    return [written, inner ? inner.write(value) : value]
  }

  /** Reads a value to declared names; reports each declared name that is written otherwise on the wire. */
  read(value: unknown, onUnknown: (path: Issue['path']) => void, path: Issue['path'] = []): unknown {
    if (Array.isArray(value)) return value.map((item, index) => this.read(item, onUnknown, [...path, index]))
    if (!isObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([written, member]) => {
        const name = this.#declared.get(written)
        const at = [...path, written]
        if (name === undefined && this.#members.has(written) && !this.#overrides.takesDeclared) onUnknown(at)
        const inner = this.#members.get(name ?? written)?.inner
        return [name ?? written, inner ? inner.read(member, onUnknown, at) : member]
      }),
    )
  }

  /** Maps the path of a declared member to the wire. */
  path([first, ...rest]: Issue['path']): Issue['path'] {
    if (first === undefined) return []
    if (typeof first === 'number') return [first, ...this.path(rest)]
    const { written = first, inner } = this.#members.get(first) ?? {}
    return [written, ...(inner ? inner.path(rest) : rest)]
  }
}

/** The mapper for names as declared, which changes nothing. */
class IdentityKeyMapper {
  write = (value: unknown): unknown => value
  writeMember = (name: string, value: unknown): [written: string, value: unknown] => [name, value]
  read = (value: unknown, _foreign?: (path: Issue['path']) => void): unknown => value
  path = (path: Issue['path']): Issue['path'] => path
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The members of a zod definition that lead to nested objects. */
interface Definition {
  shape?: Record<string, z.ZodType>
  innerType?: z.ZodType
  element?: z.ZodType
  in?: z.ZodType
  out?: z.ZodType
  left?: z.ZodType
  right?: z.ZodType
  options?: z.ZodType[]
  items?: z.ZodType[]
}

/** Lists the members of all objects that a value can be or contain, without deeper ones. */
function membersIn(schema: z.ZodType): [string, z.ZodType][] {
  const { shape, innerType, element, in: input, out, left, right, options = [], items = [] } = schema.def as Definition
  if (shape) return Object.entries(shape)
  const parts = [innerType, element, input, out, left, right, ...options, ...items]
  return parts.flatMap((part) => (part ? membersIn(part) : []))
}
