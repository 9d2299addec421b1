import type { z } from 'zod'
import type { Resource } from '../../routers/resource/declare.ts'
import type { WireNames } from '../http/names.ts'
import type { MemberProfile } from './member-profiles.ts'
import { membersIn, ObjectNames, UntouchedNames } from './object-names.ts'

export type Names = ObjectNames | UntouchedNames

/** How names of declarations are written on the wire, in both directions. */
export class Members {
  readonly #profile: MemberProfile | undefined
  readonly #ofResources = new WeakMap<Resource, Names>()
  readonly #ofInputs = new WeakMap<object, Names>()

  /** Without a profile, names are written as they are declared. */
  constructor(profile?: MemberProfile) {
    this.#profile = profile
  }

  /** A name, or names with other signs between them, such as a path; one of an attribute with its type. */
  write(text: string, type = ''): string {
    const { write, renamed } = this.#profile ?? {}
    return write ? text.replace(/\w+/g, (name) => renamed?.[type]?.[name] ?? write(name)) : text
  }

  /** Which of the declared names is written so; undefined where it is one that is written otherwise, itself where it is none. */
  read(written: string, declared: readonly string[], type?: string): string | undefined {
    if (!this.#profile) return written
    const found = declared.find((name) => this.write(name, type) === written)
    return found ?? (declared.includes(written) ? undefined : written)
  }

  /** What the value of a filter means. */
  readFilter(type: string, name: string, value: string): string {
    return this.#profile?.filters?.[type]?.[name]?.[value] ?? value
  }

  /** Whether an attribute on demand is sent to who does not say which they want. */
  isUnasked(type: string, name: string): boolean {
    return this.#profile?.unasked?.[type]?.[name] === true
  }

  /** The attributes of a type, and the members of their values. */
  mapAttributes(of: Resource): Names {
    return this.#remember(this.#ofResources, of, ({ write, renamed, verbatim, shown }) => {
      const members = Object.entries(of.attributes).map(([name, { schema }]): [string, unknown] => [name, schema])
      const { type } = of
      return new ObjectNames(write, members, {
        renamed: renamed?.[type],
        verbatim: verbatim?.[type],
        shown: shown?.[type],
      })
    })
  }

  /** Relations to one whose id is also an attribute, each with its name as it is written. */
  mapLinked({ type }: Resource): Readonly<Record<string, string>> {
    return this.#profile?.linked?.[type] ?? {}
  }

  /** What a procedure takes, by the schemas that its input passes. */
  mapInput(schemas: readonly z.ZodType[]): Names {
    return this.#remember(this.#ofInputs, schemas, ({ write, lenientActions }) => {
      const members = schemas.flatMap(membersIn)
      return new ObjectNames(write, members, { takesDeclared: lenientActions })
    })
  }

  /** What of an action's `meta` is its whole answer, as plain JSON; undefined where it answers with a document. */
  plainAnswer(type: string, action: string | undefined): string | undefined {
    return this.#profile?.plain?.[`${type}/${action}`]
  }

  #remember<K extends object>(known: WeakMap<K, Names>, key: K, make: (profile: MemberProfile) => Names): Names {
    const found = known.get(key)
    if (found) return found
    const names = this.#profile ? make(this.#profile) : new UntouchedNames()
    known.set(key, names)
    return names
  }

  /** A JSON Schema of a type's attributes, or of another object, whose objects have their members as they are written. */
  schema<S extends Schema>(schema: S, type = ''): S {
    if (!this.#profile) return schema
    const { verbatim, shown } = this.#profile
    const isOwn = (name: string) => verbatim?.[type]?.[name] || shown?.[type]?.[name]
    const of = (name: string, part: unknown) => (isOwn(name) ? part : this.#written(part))
    return this.#object(schema, of, type) as S
  }

  #object(schema: Schema, of: (name: string, part: unknown) => unknown, type = ''): Schema {
    const parts = Object.entries(schema).map(([keyword, part]): [string, unknown] => {
      if (keyword === 'required') return [keyword, (part as string[]).map((name) => this.write(name, type))]
      if (keyword !== 'properties') return [keyword, this.#written(part)]
      const members = Object.entries(part as object).map(([name, it]) => [this.write(name, type), of(name, it)])
      return [keyword, Object.fromEntries(members)]
    })
    return Object.fromEntries(parts)
  }

  #written(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((part) => this.#written(part))
    if (typeof schema !== 'object' || schema === null) return schema
    return this.#object(schema as Schema, (_, part) => this.#written(part))
  }
}

type Schema = Record<string, unknown>

/** Names as they are declared. */
export const declaredMembers = new Members()

/** What a document is written with. */
export interface DocumentContext {
  resources: ReadonlyMap<string, Resource>
  members: Members
  names: WireNames
  /** The address of the service, and of its types, in front of every link. */
  origin: string
  baseUrl: string
}
