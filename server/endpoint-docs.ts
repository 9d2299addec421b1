import { aiReqEndpoints } from '../facades/ai-req/endpoints.ts'
import { anthropicEndpoints } from '../facades/anthropic/endpoints.ts'
import { previewPath } from '../facades/http/link-preview.ts'
import type { WireNames } from '../facades/http/names.ts'
import { describeAnswer, describeJson, type Endpoint, refusal } from '../facades/http/openapi.ts'
import { legacyPreviewEndpoint } from '../facades/legacy/endpoints.ts'
import { openAiEndpoints } from '../facades/openai/endpoints.ts'

/** Lists the endpoints outside JSON:API, as each facade describes them. */
export const listEndpoints = (names: WireNames): readonly Endpoint[] => [
  ...aiReqEndpoints,
  healthEndpoint,
  ...openAiEndpoints,
  ...anthropicEndpoints,
  legacyPreviewEndpoint,
  ...listPreviewEndpoints(names),
]

const healthEndpoint: Endpoint = {
  method: 'get',
  path: '/health',
  name: 'health.check',
  tag: 'health',
  refusals: { statuses: [400], body: refusal },
  answers: (answer) => ({ ...describeAnswer(200, describeJson(answer)), ...describeAnswer(503, describeJson(answer)) }),
}

const previewMembers = {
  method: 'get',
  tag: 'links',
  refusals: { statuses: [400, 401, 403, 422, 429] },
  more: { parameters: [{ name: 'url', in: 'query', required: true, schema: { type: 'string', maxLength: 2048 } }] },
} as const

const listPreviewEndpoints = ({ basePath }: WireNames): readonly Endpoint[] => [
  {
    ...previewMembers,
    path: `${basePath}${previewPath}/metadata`,
    name: 'linkPreviews.metadata',
    answers: (answer) => describeAnswer(200, describeJson(answer)),
  },
  ...(['image', 'favicon'] as const).map((kind) => ({
    ...previewMembers,
    path: `${basePath}${previewPath}/${kind}`,
    name: `linkPreviews.${kind}`,
    answers: () => describeAnswer(200, { 'image/*': { schema: { type: 'string', format: 'binary' } } }),
  })),
]
