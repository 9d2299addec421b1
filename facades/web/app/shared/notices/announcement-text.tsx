import { Markdown } from '../markdown/markdown.tsx'

/** Links in the text that other front ends turn into buttons. */
const BUTTON_LINKS = /\[(?:CONFIRM|DECLINE)\]\([^)]*\)/g

/** The text of an announcement or a policy. */
export const AnnouncementText = ({ text }: { text: string }) => <Markdown text={text.replace(BUTTON_LINKS, '')} />
