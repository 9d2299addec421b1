import type { AuthorizationView, ConsentRequest, PageVisit, Policy } from '../shared/api/client.ts'
import { siteName } from '../shared/site.ts'

interface PageData extends PageVisit {
  /** The newest policy, which the first keys accept. */
  policy?: Policy
  /** The request of an app, on the page that asks for consent. */
  request?: ConsentRequest
  /** The request of a program that wants to be signed in, on the page that asks for consent. */
  authorization?: AuthorizationView
}

/** The element that a page is rendered in, and the one that is shown if it cannot be. */
export const root = document.getElementById('page') as HTMLElement
export const failure = document.getElementById('page-failed') as HTMLElement

/** The data that the service has written into the page. */
export const pageData = JSON.parse(root.dataset['page'] ?? '') as PageData

/** Replaces the heading of the page, and the title of the document. */
export function setTitle(title: string): void {
  document.querySelector('h1')?.replaceChildren(title)
  document.title = `${title} · ${siteName}`
}
