import type { Json, JsonObject } from '../json.ts'
import { MEDIA_TYPE } from '../media-type.ts'
import { type Relation, type Type, types } from './model.ts'
import { EXTENSIONS, PROFILES } from './negotiation.ts'

const content = (schema: JsonObject): JsonObject => ({
  content: {
    [MEDIA_TYPE]: { schema },
    [`${MEDIA_TYPE}; ext="${EXTENSIONS.join(' ')}"`]: { schema },
    [`${MEDIA_TYPE}; profile="${PROFILES.join(' ')}"`]: { schema },
  },
})

const identifier = (type: string): JsonObject => ({
  type: 'object',
  required: ['type', 'id'],
  properties: { type: { const: type }, id: { type: 'string' } },
})

const linkage = ({ to, many }: Relation): JsonObject =>
  many ? { type: 'array', items: identifier(to) } : { anyOf: [identifier(to), { type: 'null' }] }

const dataOf = (schema: JsonObject): JsonObject => ({
  type: 'object',
  required: ['data'],
  properties: { data: schema },
})

const relationships = (relations: [string, Relation][]): JsonObject => ({
  type: 'object',
  required: relations.filter(([, { required }]) => required).map(([name]) => name),
  properties: Object.fromEntries(relations.map(([name, relation]) => [name, dataOf(linkage(relation))])),
})

function resource(name: string, { attributes, relations }: Type, isSent: boolean): JsonObject {
  const shown = Object.entries(relations).filter(([, { inverse }]) => !isSent || !inverse)
  const optional = (schema: JsonObject) => Array.isArray(schema['type'])
  const required = Object.keys(attributes).filter((it) => !optional(attributes[it] ?? {}))
  return {
    type: 'object',
    properties: {
      type: { const: name },
      id: { type: 'string' },
      attributes: { type: 'object', required, properties: attributes },
      ...(shown.length > 0 && { relationships: relationships(shown) }),
    },
  }
}

const parameter = (name: string, values?: string[]): JsonObject => ({
  in: 'query',
  name,
  style: 'form',
  explode: false,
  schema: values ? { type: 'array', items: { enum: values } } : { type: 'string' },
})

function queryOf(name: string, type: Type, isCollection: boolean): Json[] {
  return [
    parameter(`fields[${name}]`),
    ...(type.includes.length > 0 ? [parameter('include', type.includes)] : []),
    ...(isCollection && type.sorts.length > 0
      ? [
          parameter(
            'sort',
            type.sorts.flatMap((it) => [it, `-${it}`]),
          ),
        ]
      : []),
    ...(isCollection && type.pageSize ? [parameter('page[size]'), parameter('page[number]')] : []),
  ]
}

function pathsOf(name: string, type: Type): [string, JsonObject][] {
  const shown = { $ref: `#/components/schemas/${name}` }
  const sent = { requestBody: content(dataOf(resource(name, type, true))), responses: { 200: content(dataOf(shown)) } }
  const id = [{ in: 'path', name: 'id', required: true, schema: { type: 'string' } }]
  const writes = type.readOnly ? {} : { patch: sent, delete: { responses: { 204: {} } } }
  const collection = {
    responses: { 200: content(dataOf({ type: 'array', items: shown })) },
    parameters: queryOf(name, type, true),
  }
  return [
    [`/${name}`, { get: collection, ...(!type.readOnly && { post: sent }) }],
    [
      `/${name}/{id}`,
      {
        parameters: id,
        get: { responses: { 200: content(dataOf(shown)) }, parameters: queryOf(name, type, false) },
        ...writes,
      },
    ],
    ...Object.entries(type.relations).flatMap(([relation, it]) => relationPaths(`/${name}/{id}`, relation, it)),
  ]
}

function relationPaths(own: string, name: string, relation: Relation): [string, JsonObject][] {
  const change = { requestBody: content(dataOf(linkage(relation))), responses: { 204: {} } }
  const changes = relation.inverse ? {} : { patch: change, ...(relation.many && { post: change, delete: change }) }
  return [
    [`${own}/${name}`, { get: { responses: { 200: {} } } }],
    [`${own}/relationships/${name}`, { get: { responses: { 200: {} } }, ...changes }],
  ]
}

/** The reference server in its own words. */
export const description = (base: string): JsonObject => ({
  openapi: '3.1.0',
  info: { title: 'Reference', version: '1' },
  servers: [{ url: base }],
  paths: Object.fromEntries(
    Object.entries(types).flatMap(([name, type]) => pathsOf(name, type).map(([path, item]) => [`/api${path}`, item])),
  ),
  components: {
    schemas: Object.fromEntries(Object.entries(types).map(([name, type]) => [name, resource(name, type, false)])),
  },
})
