import type { Route } from '../../../../facades/json-api/routes.ts'
import { resources } from '../../../../routers/index.ts'
import type { Resource } from '../../../../routers/resource/declare.ts'
import type { Input } from './outcome.ts'

const resourceOf = new Map(resources.map((resource) => [resource.type, resource]))

/** New rows of the types that can be made; a type that is missing here is only tried with what is refused. */
export const examples: Partial<Record<string, Input>> = {
  'ai-providers': {
    providerId: 'new',
    name: 'New',
    adapter: 'demo',
    apiKey: 'KEY-OF-new',
    servers: [{ apiUrl: 'https://new.example.org', apiKey: 'KEY-OF-new' }],
  },
  'ai-models': { modelId: 'new', label: 'New', provider: '1', tools: ['1', '2'], usageTypes: ['main', 'external'] },
  'ai-model-descriptions': { locale: 'de_DE', description: 'Neu', model: '1' },
  'mcp-servers': { serverLabel: 'New', url: 'https://new.example.org', additionalConfig: { a: [1] } },
  'system-models': { modelType: 'summary', model: '1', usageType: 'external' },
  'room-members': { role: 'viewer', wrappedKey: 'a2V5', keyEpoch: 0, room: '1', user: '4' },
  rooms: { name: 'Chess', roomDescription: 'aXY=|dGFn|Y2lwaGVy' },
  'system-prompts': { promptType: 'other', locale: 'de_DE', prompt: 'Sei freundlich.' },
}

const ids = ['1', '2', '3', '4', '5', '6', '99999', '0', 'x', 'open-weights', 'locale', 'de_DE', 'svc']

/** Builds the inputs of a route: what it takes, and what it refuses. */
export function buildInputs(route: Route): Input[] {
  const { method, answers, resource, relation } = route
  const target = relation ? resourceOf.get(relation.of.to)! : resource
  const inputs =
    method === 'GET'
      ? buildReadInputs(answers, target, relation ? relation.of.many : answers === 'page')
      : buildWriteInputs(route)
  return route.url.includes('/:id')
    ? inputs.flatMap((input, at) => selectIds(route, at).map((id) => ({ ...input, id })))
    : inputs
}

function selectIds({ method }: Route, at: number): string[] {
  if (at === 0 && method !== 'DELETE') return ids
  return method === 'GET' ? ['1', at % 2 === 0 ? '2' : '99999'] : ['1', '2', '99999']
}

function buildReadInputs(answers: Route['answers'], target: Resource, isList: boolean): Input[] {
  const includes =
    answers === 'linkage' || answers === 'action'
      ? []
      : [...target.includes.map((path) => [path]), [...target.includes], ['nonsense']]
  const lists: Input[] = [
    ...target.sorts.flatMap((name) => [{ sort: [name] }, { sort: [`-${name}`, 'id'] }]),
    { page: { size: 2 } },
    { page: { size: 2, number: 2 } },
    { page: { size: 0 } },
    { page: { number: 99 } },
    { sort: ['nonsense'] },
    ...['true', 'false', '1', '2', 'x'].map((assigned) => ({ filter: { assigned } })),
    ...['active', 'inactive', 'online', 'x'].map((status) => ({ filter: { status } })),
  ]
  return [{}, ...includes.map((include) => ({ include })), ...(isList ? lists : [])]
}

function buildWriteInputs({ answers, resource, method }: Route): Input[] {
  if (answers === 'action') return [{}, { nonsense: true }]
  if (answers === 'linkage') return [{ ids: ['2', '3'] }, { ids: [] }, { ids: ['1', '99999'] }, { ids: ['x'] }]
  if (method === 'DELETE') return [{}]
  const example = examples[resource.type] ?? {}
  const wrong = Object.keys(resource.attributes).map((name) => ({
    ...example,
    [name]: [['no', { such: 'value' }]],
  }))
  const changed = Object.entries(example).map(([name, value]) => ({ [name]: value }))
  const whole = method === 'POST' ? [example, example] : changed
  return [{}, { nonsense: 1 }, ...wrong, { displayName: 'Changed', bio: 'Me' }, { role: 'admin' }, ...whole]
}
