import type { LanguageFn } from 'highlight.js'
import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import c from 'highlight.js/lib/languages/c'
import cpp from 'highlight.js/lib/languages/cpp'
import csharp from 'highlight.js/lib/languages/csharp'
import css from 'highlight.js/lib/languages/css'
import diff from 'highlight.js/lib/languages/diff'
import go from 'highlight.js/lib/languages/go'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import kotlin from 'highlight.js/lib/languages/kotlin'
import latex from 'highlight.js/lib/languages/latex'
import markdown from 'highlight.js/lib/languages/markdown'
import matlab from 'highlight.js/lib/languages/matlab'
import php from 'highlight.js/lib/languages/php'
import python from 'highlight.js/lib/languages/python'
import r from 'highlight.js/lib/languages/r'
import ruby from 'highlight.js/lib/languages/ruby'
import rust from 'highlight.js/lib/languages/rust'
import sql from 'highlight.js/lib/languages/sql'
import swift from 'highlight.js/lib/languages/swift'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'

const languages: Record<string, LanguageFn> = {
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  kotlin,
  latex,
  markdown,
  matlab,
  php,
  python,
  r,
  ruby,
  rust,
  sql,
  swift,
  typescript,
  xml,
  yaml,
}
for (const [name, grammar] of Object.entries(languages)) hljs.registerLanguage(name, grammar)

/** A text, or a highlighted part of the code with its scope. */
export type CodeNode = string | { scope: string | undefined; children: CodeNode[] }

/** Builds a tree of nodes instead of HTML, so that React can render it without parsing markup. */
class TreeEmitter {
  readonly root: { scope: string | undefined; children: CodeNode[] } = { scope: undefined, children: [] }
  readonly #open = [this.root]

  addText(text: string): void {
    if (text !== '') this.#open.at(-1)?.children.push(text)
  }

  startScope(scope: string): void {
    const node = { scope, children: [] as CodeNode[] }
    this.#open.at(-1)?.children.push(node)
    this.#open.push(node)
  }

  endScope(): void {
    this.#open.pop()
  }

  openNode(scope: string): void {
    this.startScope(scope)
  }

  closeNode(): void {
    this.endScope()
  }

  __addSublanguage({ root }: TreeEmitter, language: string): void {
    this.#open.at(-1)?.children.push({ scope: language || undefined, children: root.children })
  }

  toHTML(): string {
    return ''
  }

  finalize(): void {}
}

hljs.configure({ __emitter: TreeEmitter, classPrefix: 'code-' })

/** Longer code is shown without highlighting, as some grammars search a line again for each of its characters. */
const MAX_LENGTH = 20_000

/** Highlights code; returns undefined for an unknown language and for code that is too long. */
export function highlight(code: string, language: string): CodeNode[] | undefined {
  if (code.length > MAX_LENGTH || !hljs.getLanguage(language)) return undefined
  const { _emitter } = hljs.highlight(code, { language, ignoreIllegals: true })
  return (_emitter as unknown as TreeEmitter).root.children
}
