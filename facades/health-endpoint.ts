import { answered, type Endpoint, json } from './http/openapi/endpoint.ts'

export const healthEndpoint: Endpoint = {
  ...{ method: 'get', path: '/health', name: 'health.check', tag: 'health' },
  answers: (answer) => ({ ...answered(200, json(answer)), ...answered(503, json(answer)) }),
}
