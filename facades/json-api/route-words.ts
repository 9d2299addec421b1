import type { Answers, Route } from './routes.ts'

const changes: Record<string, string> = { POST: 'Add to', PATCH: 'Replace', DELETE: 'Remove from' }

const sentences: Record<Answers, (route: Route, relation: string) => string> = {
  page: () => 'List',
  one: ({ method, url }) =>
    url.endsWith('/:id') ? `${method === 'GET' ? 'Read' : 'Change'} one` : `Read ${url.slice(1)}`,
  related: (_, relation) => `Read its ${relation}`,
  linkage: ({ method }, relation) => `${changes[method] ?? 'Read the links to'} its ${relation}`,
  created: () => 'Create one',
  nothing: () => 'Delete one',
  action: ({ action }) => `Carry out ${action}`,
}

/** What a route does to resources of its type, in a few words. */
export const summaryOf = (route: Route) => sentences[route.answers](route, route.relation?.name ?? '')
