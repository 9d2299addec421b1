const WIDTH = 80

/** The text in lines that fit a terminal, the first behind `lead` and the others below it. */
export function wrap(lead: string, text: string): string {
  const lines = [lead]
  let isEmpty = true
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    const longer = `${line}${isEmpty ? '' : ' '}${word}`
    if (isEmpty || longer.length <= WIDTH) lines[lines.length - 1] = longer
    else lines.push(' '.repeat(lead.length) + word)
    isEmpty = false
  }
  return lines.join('\n')
}
