import type { z } from 'zod'
import type { Resource } from '../../routers/resource/declare.ts'
import { type MemberCase, membersIn, ObjectNames, UntouchedNames } from './object-names.ts'

export type Names = ObjectNames | UntouchedNames

/** How names of declarations are written on the wire, in both directions. */
export class Members {
  readonly #case: MemberCase | undefined
  readonly #ofResources = new WeakMap<Resource, Names>()
  readonly #ofInputs = new WeakMap<object, Names>()

  /** Without a case, names are written as they are declared. */
  constructor(memberCase?: MemberCase) {
    this.#case = memberCase
  }

  /** A name, or names with other signs between them, such as a path. */
  write(text: string): string {
    return this.#case ? text.replace(/\w+/g, this.#case) : text
  }

  /** Which of the declared names is written so; undefined where it is one that is written otherwise, itself where it is none. */
  read(written: string, declared: readonly string[]): string | undefined {
    if (!this.#case) return written
    const found = declared.find((name) => this.write(name) === written)
    return found ?? (declared.includes(written) ? undefined : written)
  }

  /** The attributes of a type, and the members of their values. */
  attributesOf(of: Resource): Names {
    return this.#remember(this.#ofResources, of, () =>
      Object.entries(of.attributes).map(([name, { schema }]) => [name, schema]),
    )
  }

  /** What a procedure takes, by the schemas that its input passes. */
  inputOf(schemas: readonly z.ZodType[]): Names {
    return this.#remember(this.#ofInputs, schemas, () => schemas.flatMap(membersIn))
  }

  #remember<K extends object>(known: WeakMap<K, Names>, key: K, members: () => [string, unknown][]): Names {
    const names = known.get(key) ?? (this.#case ? new ObjectNames(this.#case, members()) : new UntouchedNames())
    known.set(key, names)
    return names
  }

  /** A JSON Schema whose objects have their members as they are written. */
  schema<S>(schema: S): S {
    return this.#case ? (this.#written(schema, this.#case) as S) : schema
  }

  #written(schema: unknown, write: MemberCase): unknown {
    if (Array.isArray(schema)) return schema.map((part) => this.#written(part, write))
    if (typeof schema !== 'object' || schema === null) return schema
    const parts = Object.entries(schema).map(([keyword, part]) => {
      if (keyword === 'required') return [keyword, (part as string[]).map(write)]
      if (keyword !== 'properties') return [keyword, this.#written(part, write)]
      return [
        keyword,
        Object.fromEntries(Object.entries(part).map(([name, it]) => [write(name), this.#written(it, write)])),
      ]
    })
    return Object.fromEntries(parts)
  }
}

/** How this service writes them: here and nowhere else. */
export const ourMembers = new Members()
