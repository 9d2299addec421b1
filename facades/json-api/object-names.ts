import type { z } from 'zod'

/** How a declared name is written; no two names of one object alike. */
export type MemberCase = (name: string) => string

type Path = readonly (string | number)[]

interface Member {
  written: string
  /** Of the objects in its value; absent where there are none with declared names. */
  inner: ObjectNames | undefined
}

/** What differs for single members, by declared name. */
interface OwnNames {
  renamed?: Readonly<Record<string, string>> | undefined
  /** Those whose inner members stay as they are declared. */
  verbatim?: Readonly<Record<string, true>> | undefined
  shown?: Readonly<Record<string, (value: unknown) => unknown>> | undefined
  /** Whether a member is also read where it is written as it is declared. */
  takesDeclared?: boolean | undefined
}

/** The members of one object by their declared names, for a service that writes them otherwise. */
export class ObjectNames {
  readonly #members = new Map<string, Member>()
  readonly #declared = new Map<string, string>()
  readonly #own: OwnNames

  constructor(write: MemberCase, members: Iterable<[string, unknown]>, own: OwnNames = {}) {
    this.#own = own
    for (const [name, all] of Map.groupBy(members, ([name]) => name)) {
      const below = own.verbatim?.[name] ? [] : all.flatMap(([, schema]) => membersIn(schema as z.ZodType))
      const written = own.renamed?.[name] ?? write(name)
      const { takesDeclared } = own
      const inner = below.length > 0 ? new ObjectNames(write, below, { takesDeclared }) : undefined
      this.#members.set(name, { written, inner })
      this.#declared.set(written, name)
    }
  }

  /** A value with its members as they are written; other members stay, such as those of a record. */
  write(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.write(item))
    if (!isObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, held]) => {
        const { written = name, inner } = this.#members.get(name) ?? {}
        return [written, inner ? inner.write(held) : held]
      }),
    )
  }

  /** One attribute, by its declared name. */
  writeMember(name: string, value: unknown): [written: string, value: unknown] {
    const { written = name, inner } = this.#members.get(name) ?? {}
    const show = this.#own.shown?.[name]
    if (show) return [written, show(value)]
    return [written, inner ? inner.write(value) : value]
  }

  /** A value with its members as they are declared; hears of each that is declared and not written so. */
  read(value: unknown, foreign: (path: Path) => void, path: Path = []): unknown {
    if (Array.isArray(value)) return value.map((item, index) => this.read(item, foreign, [...path, index]))
    if (!isObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([written, held]) => {
        const name = this.#declared.get(written)
        const at = [...path, written]
        if (name === undefined && this.#members.has(written) && !this.#own.takesDeclared) foreign(at)
        const inner = this.#members.get(name ?? written)?.inner
        return [name ?? written, inner ? inner.read(held, foreign, at) : held]
      }),
    )
  }

  /** The place of a declared member in the body as it was sent. */
  path([first, ...rest]: Path): Path {
    if (first === undefined) return []
    if (typeof first === 'number') return [first, ...this.path(rest)]
    const { written = first, inner } = this.#members.get(first) ?? {}
    return [written, ...(inner ? inner.path(rest) : rest)]
  }
}

/** The same for a service that writes names as they are declared. */
export class UntouchedNames {
  write = (value: unknown): unknown => value
  writeMember = (name: string, value: unknown): [written: string, value: unknown] => [name, value]
  read = (value: unknown, _foreign?: (path: Path) => void): unknown => value
  path = (path: Path): Path => path
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The part of zod's definition of a schema that leads to the objects in it. */
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

/** The members of all objects that a value can be or hold, without those that stand in one of their members. */
export function membersIn(schema: z.ZodType): [string, z.ZodType][] {
  const { shape, innerType, element, in: input, out, left, right, options = [], items = [] } = schema.def as Definition
  if (shape) return Object.entries(shape)
  const parts = [innerType, element, input, out, left, right, ...options, ...items]
  return parts.flatMap((part) => (part ? membersIn(part) : []))
}
