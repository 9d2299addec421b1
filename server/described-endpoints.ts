import { anthropicEndpoints } from '../facades/anthropic/endpoints.ts'
import { previewEndpoints } from '../facades/http/link-preview.ts'
import type { WireNames } from '../facades/http/names.ts'
import type { Endpoint } from '../facades/http/openapi.ts'
import { legacyEndpoints, legacyPreviewEndpoint } from '../facades/legacy/endpoints.ts'
import { healthEndpoint } from '../facades/monitoring.ts'
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
