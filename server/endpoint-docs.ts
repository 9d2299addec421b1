import { anthropicEndpoints } from '../facades/anthropic/endpoints.ts'
import { listPreviewEndpoints } from '../facades/http/link-preview.ts'
import type { WireNames } from '../facades/http/names.ts'
import type { Endpoint } from '../facades/http/openapi.ts'
import { legacyEndpoints, legacyPreviewEndpoint } from '../facades/legacy/endpoints.ts'
import { healthEndpoint } from '../facades/monitoring.ts'
import { openAiEndpoints } from '../facades/openai/endpoints.ts'

/** Lists the endpoints outside JSON:API, as each facade describes them. */
export const listEndpoints = (names: WireNames): readonly Endpoint[] => [
  ...legacyEndpoints,
  healthEndpoint,
  ...openAiEndpoints,
  ...anthropicEndpoints,
  legacyPreviewEndpoint,
  ...listPreviewEndpoints(names),
]
