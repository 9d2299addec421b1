import type { ChatModel } from './models.ts'

/** The steps of thinking, by the effort that a question asks for. */
export const thinkingEfforts = { off: 'none', low: 'low', medium: 'medium', high: 'high' } as const
type ThinkingStep = keyof typeof thinkingEfforts

/** Lists the steps of a model's thinking; none if it cannot be chosen. */
export function listThinkingSteps(model: ChatModel | undefined): readonly ThinkingStep[] {
  if (model?.settings?.thinking) return model.settings.thinking
  const canReason =
    model !== undefined &&
    (model.output.includes('thought') || EFFORT_NAMES.some((name) => name in (model.parameters ?? {})))
  return canReason ? ['low', 'medium', 'high'] : []
}

const EFFORT_NAMES = ['effort', 'reasoning_effort', 'reasoningEffort', 'maxThinkingTokens']
