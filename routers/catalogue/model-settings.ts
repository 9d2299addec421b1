import { z } from 'zod'
import { modelParameters, modelSettings } from '../ports/ai/model-config.ts'
import { attribute } from '../resource/declare.ts'

const unset = { write: true, default: null } as const

const aboutParameters =
  'What each request to the provider says; only what is set. `maxThinkingTokens` lets models of the kinds `anthropic` and `google` think, ' +
  'at most so much and for at most half of the answer; `anthropic` only where no tools are offered. ' +
  "Any other member goes into the body of the request as it is, in the spelling of the provider's API: `seed`, `top_k`, `reasoning_effort`."

export const parameters = attribute(modelParameters.nullable().describe(aboutParameters), unset)

const aboutSettings =
  'How tools and files are used; only what is set. No tools are offered where `toolCalling` is false, and a model must answer after 5 rounds ' +
  'of tool calls, or as many as are set here. `fileUpload` and `nativeCapabilities` tell front ends what to offer; what is false is refused.'

export const settings = attribute(modelSettings.nullable().describe(aboutSettings), unset)

const tokens = z.number().int().positive()
const bounds = z.strictObject({ maxInputTokens: tokens.nullish(), maxOutputTokens: tokens.nullish() }).nullable()

export const limits = attribute(
  bounds.describe('How much it takes and gives at most; no request asks for a longer answer.'),
  unset,
)
