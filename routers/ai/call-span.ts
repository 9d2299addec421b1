import type { Outcome } from '../../entities/ai/usage-record.ts'
import type { CallableModel } from '../ports/ai/models.ts'
import { findCurrentSpan, type Span } from '../ports/traces.ts'
import type { CallMeter } from './call-meter.ts'

/** The words of the conventions for providers that have one. */
const providers: Partial<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
}

/** Begins the span of a call of a model, over all of its rounds, by the GenAI conventions of OpenTelemetry. */
export const beginCallSpan = (
  operation: 'chat' | 'embeddings',
  { modelId, providerId, adapter }: CallableModel,
): Span | undefined =>
  findCurrentSpan()?.begin(`${operation} ${modelId}`, {
    kind: 'client',
    attributes: {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': providers[adapter] ?? providerId,
      'gen_ai.request.model': modelId,
    },
  })

interface EndedCall {
  outcome: Outcome
  bill: CallMeter['bill']
  firstPieceMs: number | undefined
}

export function endCallSpan(span: Span, { outcome, bill, firstPieceMs }: EndedCall): void {
  span.set({
    'svc.outcome': outcome,
    'gen_ai.usage.input_tokens': bill.inputTokens,
    'gen_ai.usage.output_tokens': bill.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': bill.cachedTokens,
    'gen_ai.usage.cache_creation.input_tokens': bill.cacheWriteTokens,
    'gen_ai.usage.reasoning.output_tokens': bill.reasoningTokens,
    'gen_ai.response.time_to_first_chunk': firstPieceMs === undefined ? undefined : firstPieceMs / 1000,
  })
  span.end()
}
