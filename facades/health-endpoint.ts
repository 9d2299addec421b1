import { answered, type Endpoint, json, refusal } from './http/openapi/endpoint.ts'

export const healthEndpoint: Endpoint = {
  ...{ method: 'get', path: '/health', name: 'health.check', tag: 'health' },
  refusals: { statuses: [400], body: refusal },
  answers: (answer) => ({ ...answered(200, json(answer)), ...answered(503, json(answer)) }),
}
