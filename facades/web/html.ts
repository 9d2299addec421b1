/** Markup that is safe to send as it is. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | string | number | false | undefined | readonly Html[]

/** Markup with values; escapes every value that is not markup itself. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.reduce((text, string, index) => text + render(parts[index - 1]) + string))
}

function render(part: Part): string {
  if (part === false || part === undefined) return ''
  if (part instanceof Html) return part.text
  if (Array.isArray(part)) return part.map((each) => each.text).join('\n')
  return String(part).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
