import type { AnyTRPCProcedure, AnyTRPCRouter } from '@trpc/server'
import type { Plugin } from 'vite'
import { z } from 'zod'
import { accessOf } from '../../routers/core/trpc.ts'
import { appRouter } from '../../routers/index.ts'
import { inputsOf } from '../http/procedures.ts'

/** The form of a value, which determines how people enter it. */
export type MemberKind =
  | 'text'
  | 'long text'
  | 'address'
  | 'secret'
  | 'time'
  | 'number'
  | 'numbers'
  | 'truth'
  | 'choice'
  | 'choices'
  | 'words'
  | 'lines'
  | 'texts'
  | 'json'

/** A member of an input, as a form shows it. */
export interface Member {
  kind: MemberKind
  description?: string
  /** The value if none is given. */
  default?: unknown
  isRequired?: true
  isNullable?: true
  /** The words of a choice, or the languages of texts. */
  choices?: string[]
  min?: number
  max?: number
  minLength?: number
  maxLength?: number
  /** True if a number has no fraction. */
  isWhole?: true
  /** The members of `numbers`. */
  members?: Members
}

export type Members = Record<string, Member>

/** The parts of a JSON Schema that forms need. */
interface Schema {
  type?: string
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: unknown
  propertyNames?: Schema
  items?: Schema
  enum?: string[]
  format?: string
  pattern?: string
  writeOnly?: boolean
  description?: string
  default?: unknown
  minimum?: number
  exclusiveMinimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
}

/** The longest text of a field with one line. */
const LINE_LENGTH = 1024

/** Describes the inputs of all changes that administrators make, by the path of their procedure. */
export function describeAdminInputs(router: AnyTRPCRouter = appRouter): Record<string, Members> {
  const procedures = router._def.procedures as Record<string, AnyTRPCProcedure>
  const changes = Object.entries(procedures).filter(
    ([, procedure]) => procedure._def.type === 'mutation' && accessOf(procedure).callers === 'administrators',
  )
  return Object.fromEntries(changes.map(([path, procedure]) => [path, describeInput(procedure)]))
}

function describeInput(procedure: AnyTRPCProcedure): Members {
  const schemas = inputsOf(procedure).map(
    (input) => z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }) as Schema,
  )
  return Object.assign({}, ...schemas.flatMap((schema) => schema.anyOf ?? [schema]).map(describeMembers))
}

const describeMembers = ({ properties = {}, required = [] }: Schema): Members =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, describeMember(schema, required.includes(name))]),
  )

function describeMember(schema: Schema, isRequired: boolean): Member {
  const { anyOf = [], ...outer } = schema
  const choices = anyOf.filter(({ type }) => type !== 'null')
  const value: Schema = choices.length === 1 ? { ...choices[0], ...outer } : outer
  const kind = choices.length > 1 ? 'json' : findKind(value)
  return dropUndefined({
    kind,
    description: value.description,
    default: value.default,
    isRequired: (isRequired && !('default' in value)) || undefined,
    isNullable: choices.length < anyOf.length || undefined,
    choices: value.enum ?? value.items?.enum ?? value.propertyNames?.enum,
    min: findMinimum(value),
    // JavaScript's largest integer is no bound that anybody meets.
    max: value.maximum === Number.MAX_SAFE_INTEGER ? undefined : value.maximum,
    minLength: value.minLength ?? value.minItems,
    maxLength: value.maxLength,
    isWhole: value.type === 'integer' || undefined,
    members: kind === 'numbers' ? describeMembers(value) : undefined,
  })
}

/** Returns the least number; of whole numbers above one, the next. */
const findMinimum = ({ type, minimum, exclusiveMinimum }: Schema): number | undefined =>
  type === 'integer' && exclusiveMinimum !== undefined ? exclusiveMinimum + 1 : (minimum ?? exclusiveMinimum)

function findKind(schema: Schema): MemberKind {
  switch (schema.type) {
    case 'string':
      return findTextKind(schema)
    case 'number':
    case 'integer':
      return 'number'
    case 'boolean':
      return 'truth'
    case 'array':
      return findListKind(schema)
    case 'object':
      return findObjectKind(schema)
    default:
      return 'json'
  }
}

function findTextKind({ enum: words, format, pattern, writeOnly, maxLength = 0 }: Schema): MemberKind {
  if (words) return 'choice'
  if (writeOnly) return 'secret'
  if (format === 'date-time') return 'time'
  if (format === 'uri') return 'address'
  return maxLength > LINE_LENGTH && !pattern ? 'long text' : 'text'
}

function findListKind({ items: { type, enum: words, maxLength = 0 } = {} }: Schema): MemberKind {
  if (type !== 'string') return 'json'
  if (words) return 'choices'
  return maxLength > LINE_LENGTH ? 'lines' : 'words'
}

/** Numbers by name and texts by language have fields of their own. */
function findObjectKind(schema: Schema): MemberKind {
  const { propertyNames, additionalProperties } = schema
  if (propertyNames?.enum && (additionalProperties as Schema).type === 'string') return 'texts'
  return hasOnlyNumbers(schema) ? 'numbers' : 'json'
}

function hasOnlyNumbers({ properties = {}, additionalProperties }: Schema): boolean {
  const members = Object.values(properties)
  const isNumber = (member: Schema) => describeMember(member, false).kind === 'number'
  return additionalProperties === false && members.length > 0 && members.every(isNumber)
}

/** Returns an object without the members that are undefined. */
const dropUndefined = (member: { [Key in keyof Member]: Member[Key] | undefined } & Pick<Member, 'kind'>): Member =>
  Object.fromEntries(Object.entries(member).filter(([, value]) => value !== undefined)) as unknown as Member

const MODULE = 'virtual:admin-inputs'
const RESOLVED_MODULE = `\0${MODULE}`

/** The source of the module from which the front end reads the inputs. */
export const writeAdminInputs = () =>
  `export const inputs = JSON.parse(${JSON.stringify(JSON.stringify(describeAdminInputs()))})`

/** Gives the front end the inputs, whose declarations contain code of the service. */
export const createAdminInputsPlugin = (): Plugin => ({
  name: 'admin-inputs',
  resolveId: (id) => (id === MODULE ? RESOLVED_MODULE : undefined),
  load: (id) => (id === RESOLVED_MODULE ? writeAdminInputs() : undefined),
})
