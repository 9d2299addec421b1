import { describeAnswer, describeAsIs, describeJson, type Endpoint, refusal } from '../http/openapi.ts'

/** The legacy endpoint of previews. */
export const legacyPreviewEndpoint: Endpoint = {
  method: 'post',
  path: '/api/link-preview',
  name: 'linkPreviews.metadata',
  tag: 'links',
  refusals: { statuses: [401, 403, 413, 415, 422, 429], body: refusal },
  more: { deprecated: true, summary: 'Read the preview of a page, as older front ends ask for it' },
  body: describeAsIs,
  answers: (answer) => describeAnswer(200, describeJson(answer)),
}
