/** What Anthropic calls the members of our requests. */
const names: Record<string, string> = {
  toolChoice: 'tool_choice',
  format: 'output_config.format',
  'parameters.topP': 'top_p',
  'parameters.topK': 'top_k',
  'parameters.web_search': 'tools.web_search',
  'parameters.web_fetch': 'tools.web_fetch',
  'parameters.maxTokens': 'max_tokens',
  'parameters.maxThinkingTokens': 'thinking.budget_tokens',
  'parameters.stop': 'stop_sequences',
  'parameters.parallelTools': 'tool_choice.disable_parallel_tool_use',
  'parameters.effort': 'output_config.effort',
  'parameters.thinking': 'thinking',
  'parameters.thoughts': 'thinking.display',
}

/** Of members within others. */
const members: Record<string, string | undefined> = { inputSchema: 'input_schema' }

/** A parameter in Anthropic's way of writing, such as `messages.0.content`; empty for the body as a whole. */
export function parameterAt(path: readonly (string | number)[]): string {
  const known = [path.slice(0, 2).join('.'), String(path[0])].find((name) => Object.hasOwn(names, name))
  const written = path[0] === 'parameters' ? path.slice(1) : path.map((step) => members[step] ?? step)
  return (known && names[known]) ?? written.join('.')
}
