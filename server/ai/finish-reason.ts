import type { LanguageModelV4FinishReason, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import type { FinishReason } from '../../routers/ports/ai/models.ts'
import { TruncatedAnswer } from './provider-errors.ts'

type UnifiedReason = LanguageModelV4FinishReason['unified']

/**
 * Finish reasons of providers, in lower case. Some servers send their own, others pass on the one of the provider
 * behind them.
 */
const reasonsByWord = new Map<string, FinishReason>(
  Object.entries({
    stop: ['stop', 'end_turn', 'stop_sequence', 'eos', 'eos_token', 'complete', 'completed', 'end'],
    length: [
      'length',
      'max_tokens',
      'model_length',
      'max_length',
      'max_output_tokens',
      'model_context_window_exceeded',
    ],
    'tool-calls': ['tool_calls', 'tool_call', 'tool_use', 'function_call'],
    'content-filter': [
      'content_filter',
      'content_filtered',
      'guardrail_intervened',
      'refusal',
      'sensitive',
      'safety',
      'recitation',
      'blocklist',
      'prohibited_content',
      'spii',
    ],
  } satisfies Record<FinishReason, string[]>).flatMap(([reason, list]) =>
    list.map((word): [string, FinishReason] => [word, reason as FinishReason]),
  ),
)

/** Converts a provider's finish reason; `other` if it is unknown. */
export const unifyReason = (raw: string): UnifiedReason => reasonsByWord.get(raw.trim().toLowerCase()) ?? 'other'

/** Anthropic's finish reason for a long-running turn, which it continues when it gets its own message back. */
export const isPaused = ({ raw }: LanguageModelV4FinishReason): boolean => raw === 'pause_turn'

/** Returns why an answer ended; undefined if it was truncated or the reason is unknown. */
export function toFinishReason({ unified, raw = '' }: LanguageModelV4FinishReason): FinishReason | undefined {
  const reason = unified === 'other' ? unifyReason(raw) : unified
  return reason === 'other' || reason === 'error' || reason === 'interrupted' ? undefined : reason
}

/** Returns the stop sequence that ended an answer, from the metadata of providers that report it. */
export function findStopSequence(
  metadata: SharedV4ProviderMetadata | undefined,
  stop: readonly string[] = [],
): string | undefined {
  const reported = [metadata?.['anthropic'], metadata?.['compatible']].map(
    (metadataOfProvider) => metadataOfProvider?.['stopSequence'],
  )
  return stop.find((text) => reported.includes(text))
}

export function assertFinished(reason: LanguageModelV4FinishReason): void {
  if (!toFinishReason(reason)) throw new TruncatedAnswer('the answer ended early')
}

/** A complete answer with content has ended regularly, even if the provider gives no reason. */
export const inferFinishReason = (
  reason: LanguageModelV4FinishReason,
  isEmpty: boolean,
): LanguageModelV4FinishReason =>
  reason.unified === 'other' && !reason.raw && !isEmpty ? { unified: 'stop', raw: undefined } : reason
