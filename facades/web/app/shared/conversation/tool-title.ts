import { hasLabel, t } from '../text/labels.ts'

/**
 * Returns the name of a tool in words, such as «City weather» for `city_weather`. It begins with the name of its server,
 * which not every step knows. Tools that providers have in common, such as `web_search`, have a label.
 */
export function getToolTitle(name: string): string {
  const label = `chat.composer.toolMenu.tools.${name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())}`
  if (hasLabel(label)) return t(label)
  const words = name.replaceAll('_', ' ').trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}
