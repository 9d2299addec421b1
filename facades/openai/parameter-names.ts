type Path = readonly (string | number)[]

const chat: Record<string, string> = {
  toolChoice: 'tool_choice',
  modelTools: 'tools',
  format: 'response_format',
  'parameters.topP': 'top_p',
  'parameters.maxTokens': 'max_tokens',
  'parameters.parallelTools': 'parallel_tool_calls',
  'parameters.effort': 'reasoning_effort',
  'parameters.presencePenalty': 'presence_penalty',
  'parameters.frequencyPenalty': 'frequency_penalty',
  'parameters.topK': 'top_k',
  'parameters.templateOptions': 'chat_template_kwargs',
  'parameters.web_search': 'web_search_options',
}

/** What OpenAI calls the members of our requests, by the endpoint. */
const names = {
  chat,
  responses: {
    ...chat,
    system: 'instructions',
    format: 'text.format',
    'parameters.maxTokens': 'max_output_tokens',
    'parameters.effort': 'reasoning.effort',
    'parameters.verbosity': 'text.verbosity',
    'parameters.web_search': 'tools.web_search',
    'parameters.thoughts': 'reasoning.summary',
  } as Record<string, string>,
}
export type ParameterNames = keyof typeof names

/** A parameter in OpenAI's way of writing, such as `messages[0].content`; undefined for the body as a whole. */
export function parameterAt(path: Path, endpoint: ParameterNames): string | undefined {
  if (path.length === 0) return undefined
  const table = names[endpoint]
  const known = [path.slice(0, 2).join('.'), String(path[0])].find((name) => Object.hasOwn(table, name))
  if (known) return table[known]
  const [first, ...rest] = path[0] === 'parameters' ? path.slice(1) : path
  const root = endpoint === 'responses' && first === 'messages' ? 'input' : first
  return [root, ...rest]
    .map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`))
    .join('')
}
