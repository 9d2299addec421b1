type Path = readonly (string | number)[]

/** What OpenAI calls the members of our requests. */
const names: Record<string, string> = {
  toolChoice: 'tool_choice',
  format: 'response_format',
  'parameters.topP': 'top_p',
  'parameters.maxTokens': 'max_tokens',
  'parameters.effort': 'reasoning_effort',
}

/** A parameter in OpenAI's way of writing, such as `messages[0].content`; undefined for the body as a whole. */
export function parameterAt(path: Path): string | undefined {
  if (path.length === 0) return undefined
  const known = [path.slice(0, 2).join('.'), String(path[0])].find((name) => Object.hasOwn(names, name))
  if (known) return names[known]
  const steps = path[0] === 'parameters' ? path.slice(1) : path
  return steps.map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`)).join('')
}
