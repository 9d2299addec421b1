import { anthropicEndpoints } from '../facades/anthropic/endpoints.ts'
import { healthEndpoint } from '../facades/health-endpoint.ts'
import type { WireNames } from '../facades/http/names.ts'
import type { Endpoint } from '../facades/http/openapi/endpoint.ts'
import { previewEndpoints } from '../facades/json-api/openapi/link-previews.ts'
import { legacyEndpoints, legacyPreviewEndpoint } from '../facades/legacy/endpoints.ts'
import { openAiEndpoints } from '../facades/openai/endpoints.ts'

/** What the faces serve outside JSON:API, as each describes it. */
export const describedEndpoints = (names: WireNames): readonly Endpoint[] => [
  ...legacyEndpoints,
  healthEndpoint,
  ...openAiEndpoints,
  ...anthropicEndpoints,
  legacyPreviewEndpoint,
  ...previewEndpoints(names),
]
